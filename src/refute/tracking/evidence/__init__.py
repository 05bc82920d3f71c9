"""What is known of pairs of rows that come and go, and what follows from it."""
