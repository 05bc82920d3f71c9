"""Incremental detection by LT-trees, after Weever (Kaminsky, Pena and Naumann, PVLDB 18(4), 2024).

Every column that rules read has an index from values to sets of rows: a hash map, or an LT-tree where rules order the
column. A row that comes is compared with all kept rows at once: its candidates, a bitmap, are refined by one operand
after the other, another bitmap that an index answers, until no candidate or no predicate is left. What rows had in
common is stored, so a row that goes only takes its own pairs along.

It is here for those who compare: each row combines bitmaps over all kept rows, so its time grows with their number.
"""

from refute.live.indexes.lt_tree.index import LtTreeIndex
from refute.live.indexes.lt_tree.tuning import PredicateOrder, Scheduling, Tuning

__all__ = ["LtTreeIndex", "PredicateOrder", "Scheduling", "Tuning"]
