"""The rows to blame in a Spark table: found in this process from rows that stand for all others.

`marks.py` marks the rows that break a rule, `alike.py` brings one row for all that are alike, `rounds.py` puts rows
aside where that is too much, and `listing.py` goes back to the rows of the table.
"""
