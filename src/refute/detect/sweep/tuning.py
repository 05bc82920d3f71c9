"""The sizes at which the method sweep changes its way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Thresholds of the method; every choice gives the same answer.

    `cells`: entries of a table per point.
    `few`: cells of a group that a point is added to all at once rather than by way of a tree.
    `packed`: cells of a group that are counted in lanes of packed words.
    `leaf`: points in a leaf of a box tree.
    `leading`: points of either side from which box trees may be cut along one order first.
    `tree_steps`: steps of a multi-dimensional Fenwick tree above which dividing is cheaper.
    `brute`: pairs that dividing compares one by one; far fewer in more than four dimensions.
    `divided`: points of the largest group up to which a search divides rather than builds boxes.
    `arena`: points that dividing copies rather than moves about, as they stay within the caches.
    `patience`: pairs of boxes looked at per point before dividing is tried instead.
    `subsets`: most `!=` that are counted by inclusion and exclusion.
    `probe`: points of the prefix or sample that is looked at first; 0 for none.
    `chunk`: pairs listed at a time.
    `block`: points laid out for a sweep at a time.
    `parallel`: points that pay for a second thread.
    """

    cells: float = 2.0
    few: int = 160
    packed: int = 32
    leaf: int = 12
    leading: int = 1 << 14
    tree_steps: int = 400
    brute: int = 1 << 20
    divided: int = 1 << 14
    arena: int = 1 << 17
    patience: int = 32
    subsets: int = 10
    probe: int = 2048
    chunk: int = 1 << 16
    block: int = 1 << 15
    parallel: int = 200_000

    def table(self, n: int) -> int:
        """The largest table for n points."""
        return int(self.cells * n) + 4096 if self.cells else 0


DEFAULT = Tuning()
