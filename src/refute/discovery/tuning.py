"""Which way a discovery takes: the thresholds, sizes and prices by which it chooses. No answer depends on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What is few, what is many and what is worth its cost, step by step. The values given here are measured ones."""

    # methods
    few_rows: int = 12_000  # rows up to which all pairs are the quickest way
    patience: float = 120.0  # seconds of tiles beyond which a guided search is never given up for them
    # guided search
    first_pairs: int = 20_000_000  # pairs that agree on a slot up to which all of them are looked at first
    first_pairs_of_row: int = 100  # such pairs per row, where that is more
    recut: int = 5000  # boxes broken, counted per new point, up to which boxes are cut rather than inverted again
    recut_share: float = 1.5  # the same as a share of all boxes, where that is more
    few_points: int = 12  # new points for which boxes are looked at one by one, rather than many at a time
    tried: int = 32  # new points from which that is estimated
    tried_boxes: int = 8192  # and boxes
    sets: int = 12  # sets of equalities looked at before the next inversion
    many_points: int = 20_000  # evidences from which an inversion takes seconds
    soon: float = 3.0  # seconds for all pairs that are then the better choice
    wave: int = 64  # candidates whose witnesses are searched before boxes are refined
    kinds: int = 8  # kinds of boxes, by the discerning slots that they read, for which few rows may stand for all
    few_looks: int = 4  # looks at all rows that settling a set must cost before that is tried
    many_open: int = 300  # open boxes from which rare rows are peeled
    # pairs in this process
    prefix: int = 1500  # rows whose pairs are all looked at first
    gauge: int = 4096  # rows from which the number of agreeing pairs is estimated
    drawn: int = 100_000  # pairs drawn per slot
    pair_cost: float = 6e-9  # seconds for a pair inside a group
    row_cost: float = 2.5e-7  # seconds per row to order and gather a table by a set of equalities
    witness_cost: float = 3.0e-7  # seconds per row to search all rows for one witness
    rare_pairs: int = 600  # rare pairs per set of equalities from which rows to peel are taken
    peeled: int = 500  # rows that are peeled at first
    peeled_pairs: int = 6_000_000_000  # pairs that peeling may cost in all
    # witnesses
    many_values: int = 1_000  # distinct values from which reading a column makes most rows differ
    projected: int = 4096  # points from which a projection is worth the look
    reduced: int = 50_000  # rows from which one for many rules is
    # Hydra
    partners: int = 20  # random partners per tuple
    efficiency: float = 0.005  # new evidences per pair below which a focus is discarded
    few_pairs: int = 1 << 15  # pairs that are looked at rather than refined
    batch_pairs: int = 1 << 24  # pairs that are collected before they are looked at
    # inversion
    split: int = 2000  # evidences below which splitting the search costs more than it gives
    most_cells: int = 1 << 28  # cells of a cube: 32 MB as bits
    few_cells: int = 1 << 18  # cells up to which a cube is held however few its points are
    cells_per_point: int = 1 << 11  # cells per point from which searching hitting sets is quicker
    nodes: int = 2048  # nodes, pruned ones included, that a search of a cube is divided into at the least
    quick_cells: int = 1 << 13  # cells up to which dividing that search costs more than it gives
    # points that are gone
    drawn_rows: int = 600  # rows that are drawn to be held against each other, for witnesses
    regrow: int = 4000  # points looked at, per box, up to which boxes grow around those that are gone
    # searches that are stopped
    kept: int = 10_000  # rules that are still made minimal and ranked, within half a second
    # rules that follow from others
    block: int = 16  # boxes in the smallest blocks
    fan: int = 4  # blocks in a block
    chunk: int = 512  # rules that a thread looks at before it takes the next


STANDARD = Tuning()
"""The values that are used unless others are given."""
