"""The indexes that a monitor can stand on."""

from __future__ import annotations

from collections.abc import Sequence

from refute.live.indexes.index import Index, Watched
from refute.live.indexes.runs import RunsIndex


def index_of(method: str, rules: Sequence[Watched]) -> Index:
    """A new index of a method; `auto` is `runs`, which was the faster one wherever both were measured."""
    if method == "lt_tree":
        from refute.live.indexes.lt_tree import LtTreeIndex

        return LtTreeIndex(rules)
    return RunsIndex(rules)
