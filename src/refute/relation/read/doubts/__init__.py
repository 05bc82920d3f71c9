"""Whether a CSV file is what it is read as: what separates its cells, and which letters its bytes are."""
