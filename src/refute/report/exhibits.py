"""What is shown of broken rules beside their numbers: clashing rows, the values in their groups, a scene to draw."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from refute.detect.engine import ClashingRow, Engine
from refute.detect.shown.scenes import Scene, TalliedGroup, TalliedValue, ValueTally
from refute.errors import RefuteError
from refute.report.discretion import Discretion
from refute.report.result import RuleResult
from refute.report.unasked import LOOKS, cost

if TYPE_CHECKING:
    from refute.detect.shown.excerpts import Excerpt
    from refute.report.report import Report

Answer = TypeVar("Answer")
Clash = tuple[ClashingRow, ...]
FEW = 20  # clashes of a rule that are shown where nobody says how many
_FETCHED = "gather"  # the method of rules whose rows Spark sent to this process
_GROUPS = 12
_MANY = 1000
_SPARE = 4  # times as many are listed as are shown, to choose those that do not say the same
_AROUND = 200  # rows in a picture
_EXCERPT = 400  # rows that a job on Spark brings for a rule whose rows stay there
_GLANCES = 20  # failing rules for which such a job is run unasked


class Exhibits:
    """Answers by rule, as far as they cost little or were asked for.

    Of rows that stay on Spark, one job for each of the first rules that fail brings what there is to show: the values
    of groups, or some rows around the clash that is known. With `clashes`, so many are looked for in all rows.
    """

    def __init__(self, report: Report, engine: Engine, discretion: Discretion, clashes: int | None) -> None:
        self._report = report
        self._engine = engine
        self._hide = discretion
        self._clashes = clashes
        self._key = report.data.key
        self.clashes = lru_cache(maxsize=None)(self._find_clashes)
        self.tally = lru_cache(maxsize=None)(self._find_tally)
        self.scene = lru_cache(maxsize=None)(self._find_scene)
        self._excerpt = lru_cache(maxsize=None)(self._find_excerpt)
        self._glanced = {result.name for result in report.failing_first[:_GLANCES] if not result.passed}

    def _find_clashes(self, name: str) -> list[Clash]:
        """Some clashes of a rule, at least the one that was found anyway."""
        result = self._report[name]
        if result.finding.holds:
            return []
        if not self._engine.identifies:
            return [self.witness(name)]
        wanted = self._clashes or FEW
        spare = _SPARE if wanted <= _MANY else 2  # at least for clashes that come in both directions
        if self._looks(result):
            listed = list(map(self._quiet_clash, self._report.violations(result, wanted * spare).rows()))
            news = [self.witness(name)] if result.compared is not None and result.values else []  # known ones after it
            return _varied([*news, *listed], wanted)
        return _varied([self.witness(name), *self._glanced_at(name)], wanted)

    def _glanced_at(self, name: str) -> list[Clash]:
        """Clashes that are known from what one job has brought."""
        tally = self.tally(name)
        if tally is not None:
            return _clashes_of(tally)
        excerpt = self._excerpt(name)
        return [] if excerpt is None else list(map(self._quiet_clash, excerpt.clashes))

    def _quiet_clash(self, clash: Clash) -> Clash:
        return tuple(
            ClashingRow(row.role, self._hide.row_id(row.row_id, self._key), self._hide.values(row.values))
            for row in clash
        )

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
        if not (self._looks(result) or self._glances(result)):
            return None
        found = self._unfailing(
            result,
            lambda: self._engine.tally(result.rule, max(self._clashes or 0, _GROUPS), counts=self._looks(result)),
        )
        if found is None or not self._hide:
            return found
        groups = []
        for group in found.groups:
            values = tuple(
                TalliedValue(
                    self._quiet(found.right, one.values),
                    one.rows,
                    *(self._hide.row_id(end, self._key) for end in (one.first, one.last)),
                )
                for one in group.values
            )
            groups.append(TalliedGroup(self._quiet(found.left, group.key), values, group.distinct, group.rows))
        return replace(found, groups=tuple(groups))

    def _find_scene(self, name: str) -> Scene | None:
        """A clash and the rows around it; None where values are hidden, as their places would show them."""
        result = self._report[name]
        if self._hide.hides(*result.columns):
            return None
        found = self._engine.scene(result.rule, _AROUND) if self._looks(result) else None
        excerpt = self._excerpt(name) if found is None else None
        return found if excerpt is None else excerpt.scene

    def _find_excerpt(self, name: str) -> Excerpt | None:
        """Some rows around the clash that is known, of a table that stays on Spark, where its values are known."""
        result = self._report[name]
        if not (self._looks(result) or self._glances(result)) or self._hide.hides(*result.rule.columns, *self._key):
            return None
        return self._unfailing(
            result, lambda: self._engine.excerpt(result.rule, self.witness(name), _EXCERPT, FEW * _SPARE)
        )

    def _unfailing(self, result: RuleResult, ask: Callable[[], Answer]) -> Answer | None:
        """The answer; None where nobody asked for it and the table is gone, or its session: the report still shows."""
        if self._looks(result):
            return ask()
        with suppress(RefuteError):
            return ask()
        return None

    def _looks(self, result: RuleResult) -> bool:
        """Whether all rows are looked at again for a rule."""
        if result.finding.holds or self._clashes is not None:
            return not result.finding.holds
        return self._is_counted(result) and self._is_here(result) and self._costs_little(result)

    def _glances(self, result: RuleResult) -> bool:
        """Whether one job brings a few rows for a rule that fails."""
        return self._is_counted(result) and result.name in self._glanced and not self._is_here(result)

    def _is_counted(self, result: RuleResult) -> bool:
        """Whether more than a verdict was asked for, and the rule is broken."""
        return bool(result.finding.violations)

    def _is_here(self, result: RuleResult) -> bool:
        return self._engine.is_here or result.finding.method == _FETCHED

    def _costs_little(self, result: RuleResult) -> bool:
        return cost([result.rule], self._report.data.rows) <= LOOKS

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


def _clashes_of(tally: ValueTally) -> list[Clash]:
    """The clashes that the groups of a tally show: the first row of the value that most rows say, with that of each
    other value; of a key, the first and the last of the rows that have it."""
    found: list[Clash] = []
    for group in tally.groups:
        most, *others = group.values
        known = dict(zip(tally.left, group.key, strict=True))
        told = [(one.first, known | dict(zip(tally.right, one.values, strict=True))) for one in others]
        for row_id, values in told if tally.right else [(most.last, known)]:
            first = known | dict(zip(tally.right, most.values, strict=True))
            found.append((ClashingRow("s", most.first, first), ClashingRow("t", row_id, values)))
    return found
