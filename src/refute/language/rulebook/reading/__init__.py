"""Rule files as they are read: YAML, the fields it may have, and everything that is wrong with them."""
