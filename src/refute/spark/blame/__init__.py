"""The rows to blame in a Spark table.

`shapes.py` says what a rule asks of rows, `marks.py` marks those that break one, `alike.py` has one row stand for all
that are alike. These come to this process where they fit; else `deciding.py` sends them, or the whole table, to one
task, and where that may not hold them, `voting.py` decides where they are, by contests:
`contests.py` for groups, `orders.py` for orders, `rounds.py` for all else. `cells` names cells by what the rows
that stay say; `suspect_listing.py` goes back to the rows of the table.
"""
