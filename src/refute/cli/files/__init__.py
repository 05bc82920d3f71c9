"""Commands that make rule files, or say what may be in them."""
