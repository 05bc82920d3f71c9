"""CSV files: how they are written, what may be wrong with them, and which types their columns get."""
