"""What is kept true while rows come and go: violations of rules, in memory and on disk."""
