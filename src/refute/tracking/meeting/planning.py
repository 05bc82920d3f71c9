"""Which sets of equalities rows are best met by, as a weighted cover of what boxes ask for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import PredicateSpace, Words
from refute.tracking.evidence.known import ascending
from refute.tracking.meeting.cover import Chosen
from refute.tracking.meeting.groups import KeyNumbers
from refute.tracking.meeting.residual import required
from refute.tracking.rows import TrackedRows

Mask = NDArray[np.bool_]
_SAMPLE = 4096  # rows from which it is estimated how many agree
_SELECTIVE = 12  # a set of equalities is of use if a row meets less than this part of all rows
_PAIRS = 64  # sets of two slots that are tried
_WORTH = 4  # all rows are met unless sets are this much better


@dataclass(frozen=True, slots=True)
class CoverPlan:
    """Sets of equalities, and how many rows a row meets by all of them, about."""

    sets: tuple[Chosen, ...]
    work: float


def planned(space: PredicateSpace, rows: TrackedRows, boxes: Words) -> CoverPlan | None:
    """The sets by which rows meet the fewest others, so that most boxes are settled; None if all rows are as good.

    Boxes that ask for no selective equality are left to other ways.
    """
    n = rows.n_alive
    if not len(boxes) or not n:
        return None
    demands = _distinct(required(space, boxes))
    demands = demands[demands.any(axis=1)]
    share = _Shares(space, rows)
    listed: list[tuple[float, Chosen]] = []
    for k in np.flatnonzero(demands.any(axis=0)).tolist():
        listed.append((share.of((k,)), frozenset([k])))
    weak = [k for cost, chosen in listed for k in chosen if cost * _SELECTIVE > 1]
    open_ones = demands[~_settled(demands, [chosen for cost, chosen in listed if cost * _SELECTIVE <= 1])]
    asked = [pair for pair in combinations(weak, 2) if open_ones[:, list(pair)].all(axis=1).any()]
    listed += [(share.of(pair), frozenset(pair)) for pair in asked[:_PAIRS]]
    useful = [(cost, chosen) for cost, chosen in listed if cost * _SELECTIVE <= 1]
    sets: list[Chosen] = []
    work = 0.0
    left = demands
    while useful and len(left):
        gains = [int(_settled(left, [chosen]).sum()) for _, chosen in useful]
        ratings = [(useful[i][0] * n + 1) / gain if gain else np.inf for i, gain in enumerate(gains)]
        best = int(np.argmin(ratings))
        if not gains[best]:
            break
        cost, chosen = useful.pop(best)
        sets.append(chosen)
        work += cost * n
        left = left[~_settled(left, [chosen])]
    return CoverPlan(tuple(sets), work) if sets and _WORTH * work <= n else None


def _settled(demands: Mask, sets: list[Chosen]) -> Mask:
    """Which demands hold one of the sets."""
    found = np.zeros(len(demands), np.bool_)
    for chosen in sets:
        found |= demands[:, sorted(chosen)].all(axis=1)
    return found


def _distinct(demands: Mask) -> Mask:
    """The demands, each once."""
    packed = np.packbits(demands, axis=1)
    words = np.zeros((len(packed), -(-packed.shape[1] // 8)), np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    listed = ascending(words).view(np.uint8)[:, : packed.shape[1]]
    return np.unpackbits(listed, axis=1, count=demands.shape[1]).view(np.bool_)


class _Shares:
    """How large a part of all rows agrees with a row on some slots, estimated from a sample."""

    def __init__(self, space: PredicateSpace, rows: TrackedRows) -> None:
        living = rows.living
        self._codes = rows.codes[living[:: max(1, len(living) // _SAMPLE)]]
        self._columns = [
            tuple(rows.at[name] for name in (*slot.columns, *slot.columns)[:2]) if slot.is_pair else None
            for slot in space.slots
        ]

    def of(self, slots: tuple[int, ...]) -> float:
        """The part of all rows that agree with a row on these slots."""
        sides = []
        for side in (0, 1):
            columns = [both[side] for k in slots if (both := self._columns[k]) is not None]
            sides.append(self._codes[:, columns])
        keys = KeyNumbers(sides[0].shape[1])
        left, right = (np.bincount(numbers, minlength=keys.known) for numbers in [keys.of(side) for side in sides])
        half = len(self._codes)
        return float(left @ right) / max(1, half * half)
