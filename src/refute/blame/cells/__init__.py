"""Which cells of suspects are wrong, and what they should say."""
