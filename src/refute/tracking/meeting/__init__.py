"""How rows that come meet those that are there: by what they agree on, and by rows that stand for others."""
