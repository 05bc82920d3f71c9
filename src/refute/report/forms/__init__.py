"""A report as text, JSON, JUnit XML and a table."""
