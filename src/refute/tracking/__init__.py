"""Rules that were discovered, kept exactly current while rows come and go."""
