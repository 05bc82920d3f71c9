"""What is shown of a Spark table beside answers: clashes, marked rows, excerpts and scenes."""
