"""Pairs of rows that come together, by the methods for whole tables: many at once are a table of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refute.detect.detector import Detector
from refute.language.rulebook import Rule
from refute.live.columns import Followed, ReadRows
from refute.live.indexes.index import Batch, Found, Index, Longs, Pairs
from refute.runtime.threads import chosen_threads

LARGE = 1 << 15  # rows of a batch from which these methods are faster than an index, which looks at one by one


def insert(index: Index, batch: Batch, rows: ReadRows, rules: Sequence[Followed], limits: Sequence[int]) -> list[Found]:
    """What `index.insert` finds, where rows are many in less time."""
    if len(batch) < LARGE:
        return index.insert(batch, limits)
    found = index.probe(batch, limits)
    index.load(batch)
    detector = Detector(rows.relation, threads=chosen_threads(None))
    return [
        joined(one, among(detector, followed.rule, batch.slots, limit - one.count))
        for followed, one, limit in zip(rules, found, limits, strict=True)
    ]


def among(detector: Detector, rule: Rule, slots: Longs, limit: int) -> Found:
    """The violations of a rule in a table whose rows have these slots; of a rule about one row, with `s` twice."""
    count = detector.count(rule)
    if count > limit:
        return Found(count, None)
    parts = [(s, s if t is None else t) for s, t in detector.pairs(rule)]
    nothing = np.empty(0, np.int64)
    s, t = (slots[np.concatenate([nothing, *(part[side] for part in parts)])] for side in (0, 1))
    return Found(count, (s, t))


def joined(one: Found, other: Found) -> Found:
    """All pairs of both, of which none is in both."""
    if one.pairs is None or other.pairs is None:
        return Found(one.count + other.count, None)
    pairs: Pairs = (
        np.concatenate([one.pairs[0], other.pairs[0]]),
        np.concatenate([one.pairs[1], other.pairs[1]]),
    )
    return Found(one.count + other.count, pairs)
