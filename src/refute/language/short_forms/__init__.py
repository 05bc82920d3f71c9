"""Rules as people write them: short forms of common rules, and rules about single columns."""
