"""What follows from predicates: which exclude or imply each other, and which of a rule are spare."""
