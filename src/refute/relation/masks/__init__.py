"""Which rows meet predicates and conditions about one row, exact across types."""
