"""The public functions: they pick the engine for a table and put its answers into the classes users see."""
