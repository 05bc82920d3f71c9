"""Spans of time or numbers that do not overlap, inside groups or among all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from refute.blame.contest import mark_spans
from refute.kernels.proposing.spans import deal, overlap_blame
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, Grouping, Longs, fresh
from refute.proposing.scores import Figures, Limits
from refute.relation import Relation

_NEVER = np.iinfo(np.int64).max


def spanned_columns(compared: Candidate) -> tuple[str, str] | None:
    """Where spans begin and end by a comparison: the lower column, then the higher one."""
    first, second = compared.right
    if compared.form in ("<", "<="):
        return first, second
    return (second, first) if compared.form in (">", ">=") else None


@dataclass(frozen=True, slots=True, eq=False)
class SpanSearch:
    """What is needed to search spans: columns, their groupings, and the table that has them."""

    relation: Relation
    columns: Sequence[CodedColumn]
    singles: dict[int, Grouping]
    n_rows: int
    limits: Limits
    seed: int
    pruned: bool = True

    def tasks(self, compared: Iterable[Candidate]) -> Iterator[Callable[[], list[Candidate]]]:
        """What searches the spans of two columns, of which one is known to be at most the other."""
        for one in compared:
            both = spanned_columns(one)
            if both is not None:
                yield partial(self.searched, *both)

    def searched(self, start: str, end: str) -> list[Candidate]:
        """The rules by which these spans do not overlap that are good enough."""
        return list(self._between(start, end))

    def judged(self, group: int | None, start: str, end: str) -> list[Candidate]:
        """The rule for the groups of one column, or among all rows, where it is good enough."""
        spans = self._spans(start, end)
        return [] if spans is None else self._within(group, start, end, *spans)

    def _between(self, start: str, end: str) -> Iterator[Candidate]:
        spans = self._spans(start, end)
        if spans is None:
            return
        for place in (None, *range(len(self.columns))):
            found = self._within(place, start, end, *spans)
            yield from found
            if found and place is None:
                return  # it follows inside any group

    def _spans(self, start: str, end: str) -> tuple[np.ndarray, Longs, Longs] | None:
        """Which rows have both ends of a span, and where it begins and ends; None where most have no true span."""
        first, second = fresh(self.relation, start, end).encode_joint((start, end), ordered=True, dense=True)
        begins, ends = first.values.astype(np.int64), second.values.astype(np.int64)
        spanned = (begins >= 0) & (ends >= 0)
        few = np.count_nonzero(spanned & (begins < ends)) < 0.5 * self.n_rows
        return None if few else (spanned, begins, ends)

    def _within(
        self, place: int | None, start: str, end: str, spanned: np.ndarray, begins: Longs, ends: Longs
    ) -> list[Candidate]:
        by = () if place is None else (self.columns[place].name,)
        grouping = Grouping.whole(self.n_rows) if place is None else self.singles[place]
        if {start, end} & set(by) or grouping.n_groups == 0:
            return []
        figures = self._figures(grouping, spanned, begins, ends, alone=place is None)
        return [] if figures is None else [Candidate(RuleShape.NO_OVERLAP, by, (start, end), figures)]

    def _figures(
        self, grouping: Grouping, spanned: np.ndarray, begins: Longs, ends: Longs, *, alone: bool
    ) -> Figures | None:
        kept = spanned[grouping.order]
        rows = grouping.order[kept]
        groups = np.repeat(np.arange(grouping.n_groups), grouping.sizes)
        bounds = np.searchsorted(groups[kept], np.arange(grouping.n_groups + 1))
        if len(rows) < self.limits.order_support * self.n_rows:
            return None
        most = int(self.limits.order_error * len(rows))
        turned = ends[rows] < begins[rows]
        within, within_bounds = rows[~turned], bounds - np.concatenate([[0], np.cumsum(turned)])[bounds]
        own = begins[within], ends[within], within_bounds
        blame = overlap_blame(own[1], own[0], own[2], most if self.pruned else _NEVER)
        if blame <= most and turned.any():  # those may clash with spans that reach over them, so more are to blame
            blame = _fewest(groups[kept], begins[rows], ends[rows])
        if blame > most:
            return None
        figures = Figures(len(rows), grouping.n_groups, blame, self._chance(*own, alone))
        least = max(self.limits.chance, self.limits.order_chance * len(rows))
        enough = (figures.chance or 0.0) >= least and figures.score >= self.limits.order_lift
        return figures if enough else None

    def _chance(self, begins: Longs, ends: Longs, bounds: Longs, alone: bool) -> float:
        """The spans to remove where they are dealt to groups anew; among all rows, where their ends are."""
        seed = np.uint64(self.seed)
        if alone:
            deal(ends, seed)
            real = np.sort(begins) <= ends
            begins, ends = np.sort(begins)[real], ends[real]
            return float(overlap_blame(ends, begins, np.array([0, len(ends)], np.int64), _NEVER))
        spans = begins << 32 | ends
        deal(spans, seed)
        sizes = np.sort(np.diff(bounds))
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        return float(overlap_blame(spans & 0xFFFFFFFF, spans >> 32, bounds, _NEVER))


def _fewest(groups: Longs, begins: Longs, ends: Longs) -> int:
    """The fewest spans to remove so that no two of a group overlap, where some end before they begin."""
    sorted_by = np.lexsort((begins, ends, groups))
    points = np.ascontiguousarray(np.stack([groups, begins, ends])[:, sorted_by])
    kept = np.zeros(len(groups), np.bool_)
    mark_spans(points, np.ones(len(groups), np.int64), False, kept)
    return int(len(groups) - np.count_nonzero(kept))
