"""What `refute check` writes, and what it holds its results against."""
