"""Pairs worth a look before any proof: some rows against each other, and partners drawn for their values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import picked
from refute.discovery.evidence.codebook import Codebook
from refute.discovery.evidence.counted import Evidence, packed_pairs
from refute.discovery.evidence.tiles import rectangle_evidence, task_pairs, triangle
from refute.discovery.work import Budget
from refute.kernels.evidence.clues import clues_of

Rows = NDArray[np.int64]
_WIDEST = 1 << 18  # rows that others are held against in one task


def pair_evidence(
    book: Codebook, s_rows: Rows, t_rows: Rows, *, checked: Callable[[], None] = lambda: None
) -> Evidence:
    """The evidence of the given pairs; a row paired with itself is left out. `checked` is as for `evidence_of`."""
    apart = s_rows != t_rows
    s_rows, t_rows = s_rows[apart], t_rows[apart]
    clues = clues_of(book.facts, s_rows, t_rows)
    first, counts = _counted(clues)
    firsts = packed_pairs(s_rows[first], t_rows[first]) if book.keeps_pairs else None
    return Evidence.from_clues(book, clues[first], counts, firsts, checked=checked)


def _counted(clues: NDArray[np.int32]) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64]]:
    """Where each of the clues comes first, and how often it comes; they may repeat where they are wide."""
    if not len(clues):
        return slice(None), np.empty(0, np.int64)
    if clues.shape[1] <= 2:
        keys = clues[:, 0].astype(np.int64) | (clues[:, -1].astype(np.int64) << 32 if clues.shape[1] == 2 else 0)
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        return first, counts.astype(np.int64)
    return slice(None), np.ones(len(clues), np.int64)  # hashing distinguishes points of many words, not rows


def prefix_evidence(book: Codebook, rows: Rows, budget: Budget) -> tuple[Evidence, bool]:
    """The evidence of all pairs among the given rows, and whether all of them were looked at."""
    facts = picked(book.facts, rows, rows)
    return rectangle_evidence(book, facts, triangle(len(rows), task_pairs(facts)), budget, rows=(rows, rows))


def row_evidence(book: Codebook, rows: Rows, n_rows: int, budget: Budget) -> tuple[Evidence, bool]:
    """The evidence of each given row against all others, and whether all pairs were looked at.

    Pairs of two given rows are counted twice.
    """
    everything = np.arange(n_rows)
    facts = book.facts._replace(
        s=np.ascontiguousarray(book.facts.s[:, rows]), s_bits=np.ascontiguousarray(book.facts.s_bits[:, rows])
    )
    width = max(1, min(_WIDEST, task_pairs(facts) // max(1, len(rows))))
    tasks = [
        np.array([[0, len(rows), start, min(start + width, n_rows)]], np.int64) for start in range(0, n_rows, width)
    ]
    return rectangle_evidence(book, facts, tasks, budget, everything[rows], (rows, None))
