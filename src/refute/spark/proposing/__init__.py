"""Proposals where the rows are: parts of the rows reject most candidates, and tasks judge those that are left.

`table.py` has the rows in blocks, `tasks.py` what is done with them, and `search.py` says what to ask next. Sums and
candidates come to the driver, and no rows.
"""
