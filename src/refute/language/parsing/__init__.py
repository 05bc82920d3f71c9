"""From the text of a rule to its meaning, and errors that are shown under the text."""
