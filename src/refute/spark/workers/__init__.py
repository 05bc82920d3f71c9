"""What Spark's Python workers run, and how they and the driver speak: rows in blocks."""
