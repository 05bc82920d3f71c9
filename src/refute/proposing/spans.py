"""Spans of time or numbers that do not overlap, inside groups or among all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from refute.kernels.proposing.spans import deal, overlap_blame
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, Grouping, Longs, fresh
from refute.proposing.scores import Figures, Limits
from refute.relation import Relation

_NEVER = np.iinfo(np.int64).max


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
            if one.form in ("<", "<="):
                yield partial(self.searched, *one.right)
            elif one.form in (">", ">="):
                yield partial(self.searched, *reversed(one.right))

    def searched(self, start: str, end: str) -> list[Candidate]:
        """The rules by which these spans do not overlap that are good enough."""
        return list(self._between(start, end))

    def _between(self, start: str, end: str) -> Iterator[Candidate]:
        first, second = fresh(self.relation).encode_joint((start, end), ordered=True, dense=True)
        begins, ends = first.values.astype(np.int64), second.values.astype(np.int64)
        spanned = (begins >= 0) & (ends >= 0) & (begins <= ends)
        if np.count_nonzero(spanned & (begins < ends)) < 0.5 * self.n_rows:
            return
        for place in (None, *range(len(self.columns))):
            column = None if place is None else self.columns[place]
            if column is not None and (column.name in (start, end) or self.singles[place or 0].n_groups == 0):
                continue
            grouping = Grouping.whole(self.n_rows) if place is None else self.singles[place]
            figures = self._figures(grouping, spanned, begins, ends, alone=column is None)
            if figures is not None:
                by = () if column is None else (column.name,)
                yield Candidate(RuleShape.NO_OVERLAP, by, (start, end), figures)
                if not by:
                    return  # it follows inside any group

    def _figures(
        self, grouping: Grouping, spanned: np.ndarray, begins: Longs, ends: Longs, *, alone: bool
    ) -> Figures | None:
        kept = spanned[grouping.order]
        rows = grouping.order[kept]
        groups = np.repeat(np.arange(grouping.n_groups), grouping.sizes)[kept]
        bounds = np.searchsorted(groups, np.arange(grouping.n_groups + 1))
        if len(rows) < self.limits.order_support * self.n_rows:
            return None
        most = int(self.limits.order_error * len(rows))
        blame = overlap_blame(ends[rows], begins[rows], bounds, most if self.pruned else _NEVER)
        if blame > most:
            return None
        figures = Figures(len(rows), grouping.n_groups, blame, self._chance(begins[rows], ends[rows], bounds, alone))
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
