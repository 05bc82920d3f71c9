"""Some rows around a clash that is known: what can be shown of a table too large to be looked through again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from refute.detect.engine import ClashingRow
from refute.detect.local import LocalEngine
from refute.detect.shown.scenes import Scene, scene_of
from refute.language.rulebook import Rule
from refute.relation.shown import told_rows


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Clashes among some rows, where these have ids, and a scene to draw of rules about two rows."""

    clashes: tuple[tuple[ClashingRow, ...], ...]
    scene: Scene | None = None

    @classmethod
    def around(cls, rule: Rule, rows: pa.Table, ids: Sequence[Any] | None, most: int) -> Excerpt:
        """The excerpt of some rows, the first two of which clash; at most so many clashes of them."""
        local, names = LocalEngine(rows), rule.constraint.columns
        scene = None if rule.constraint.computes else scene_of(local.relation, rule, (0, 1), rows.num_rows, names)
        if ids is None:
            return cls((), scene)
        told = told_rows(rows.select(list(names)))
        listed = (pair for part in local.clashes(rule, most).row_pairs() for pair in zip(*part, strict=True))
        clashes = tuple(
            tuple(ClashingRow(role, ids[int(row)], told[int(row)]) for role, row in zip("st", pair, strict=True))
            for pair in listed
        )
        return cls(clashes, scene)
