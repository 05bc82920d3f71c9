"""What the cells of suspects in a Spark table should say, by the rows that stay (`staying.py`).

`cells.py` names cells, `testimony.py` has what those rows say for given values, `rivals.py` counts the partners that
changed rows would have, `fits.py` has the intervals of orders.
"""
