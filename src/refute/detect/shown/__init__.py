"""What is shown of a table in memory beside answers: clashes, marked rows, excerpts, scenes and suspects."""
