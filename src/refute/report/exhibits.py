"""What is shown of broken rules beside their numbers: clashing rows, the values in their groups, a scene to draw."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from refute.detect.engine import ClashingRow, Engine
from refute.detect.scenes import Scene, TalliedGroup, TalliedValue, ValueTally
from refute.report.discretion import Discretion
from refute.report.result import RuleResult
from refute.report.unasked import LOOKS, cost

if TYPE_CHECKING:
    from refute.report.report import Report

Clash = tuple[ClashingRow, ...]
FEW = 20  # clashes of a rule that are shown where nobody says how many
_FETCHED = "gather"  # the method of rules whose rows Spark sent to this process
_GROUPS = 12
_MANY = 1000
_SPARE = 4  # times as many are listed as are shown, to choose those that do not say the same
_AROUND = 200  # rows in a picture


class Exhibits:
    """Answers by rule, as far as they cost little or were asked for: of rows on Spark, by `clashes`."""

    def __init__(self, report: Report, engine: Engine, discretion: Discretion, clashes: int | None) -> None:
        self._report = report
        self._engine = engine
        self._hide = discretion
        self._clashes = clashes
        self._key = report.data.key
        self.clashes = lru_cache(maxsize=None)(self._find_clashes)
        self.tally = lru_cache(maxsize=None)(self._find_tally)
        self.scene = lru_cache(maxsize=None)(self._find_scene)

    def _find_clashes(self, name: str) -> list[Clash]:
        """Some clashes of a rule, at least the one that was found anyway."""
        result = self._report[name]
        if result.finding.holds:
            return []
        if not self._looks(result) or not self._engine.identifies:
            return [self.witness(name)]
        wanted = self._clashes or FEW
        spare = _SPARE if wanted <= _MANY else 2  # at least for clashes that come in both directions
        listed = _varied(self._report.violations(result, wanted * spare).rows(), wanted)
        return [
            tuple(
                ClashingRow(row.role, self._hide.row_id(row.row_id, self._key), self._hide.values(row.values))
                for row in clash
            )
            for clash in listed
        ]

    def witness(self, name: str) -> Clash:
        """The clash that the check has found."""
        result = self._report[name]
        return tuple(
            ClashingRow(role, getattr(result.finding.witness, role), row)
            for role, row in (result.values or {}).items()
            if row is not None
        )

    def _find_tally(self, name: str) -> ValueTally | None:
        """The values in the groups of a broken dependency or key, with the numbers of their rows."""
        result = self._report[name]
        if result.finding.holds or not self._looks(result):
            return None
        found = self._engine.tally(result.rule, max(self._clashes or 0, _GROUPS))
        if found is None or not self._hide:
            return found
        groups = []
        for group in found.groups:
            values = tuple(
                TalliedValue(self._quiet(found.right, one.values), one.rows, self._hide.row_id(one.first, self._key))
                for one in group.values
            )
            groups.append(TalliedGroup(self._quiet(found.left, group.key), values, group.distinct, group.rows))
        return replace(found, groups=tuple(groups))

    def _find_scene(self, name: str) -> Scene | None:
        """A clash and the rows around it; None where values are hidden, as their places would show them."""
        result = self._report[name]
        if result.finding.holds or self._hide.hides(*result.columns) or not self._looks(result):
            return None
        return self._engine.scene(result.rule, _AROUND)

    def _looks(self, result: RuleResult) -> bool:
        """Whether rows are looked at again for a rule."""
        if self._clashes is not None:
            return True
        if result.finding.violations is None:  # only a verdict was asked for
            return False
        here = getattr(self._engine, "is_here", False) or result.finding.method == _FETCHED
        return here and cost([result.rule], self._report.data.rows) <= LOOKS

    def _quiet(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self._hide.value(name, value) for name, value in zip(names, values, strict=True))


def _varied(clashes: list[Clash], wanted: int) -> list[Clash]:
    """So many clashes, those first that show rows not seen before; of a clash and its mirror image only one."""
    seen: set[str] = set()
    fresh: list[Clash] = []
    others: list[Clash] = []
    known: set[frozenset[str]] = set()
    for clash in clashes:
        ids = [repr(row.row_id) for row in clash]
        if frozenset(ids) in known:
            continue
        known.add(frozenset(ids))
        (others if seen.intersection(ids) else fresh).append(clash)
        seen.update(ids)
    return (fresh + others)[:wanted]
