"""From clashing pairs to the few rows to blame, and what they should say.

`rows.py` is the way from rules to rows, `contest.py` what a rule is here; `cells` looks for the cells at fault.
"""
