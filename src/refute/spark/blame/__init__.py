"""The rows to blame in a Spark table: found in this process from rows that stand for all others.

`marks.py` marks the rows that a rule tells apart, `alike.py` brings one row for all that are alike, and `listing.py`
goes back to the rows of the table.
"""
