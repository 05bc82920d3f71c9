"""A table as discovery sees it before it looks at pairs: its columns, and how their values are spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.discovery.options import Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.rank import state_shares
from refute.discovery.result.support import support
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Look, unhurried
from refute.language.form import Form
from refute.language.predicate import Constant
from refute.relation import Family, Relation
from refute.relation.arrays import row_numbers
from refute.relation.keys.encoding import Encoding
from refute.relation.types import ColumnType

Counts = NDArray[np.int64]
T = TypeVar("T")


class SearchedTable(Protocol):
    """A table whose rules are searched."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    def type_of(self, name: str) -> ColumnType:
        """The type of a column."""

    def null_count(self, name: str) -> int:
        """How many rows are null or NaN in a column."""

    def shared_values(self, names: Sequence[str], look: Look = unhurried) -> Mapping[tuple[str, str], float]:
        """For each two of these columns of one type, in this order: how many values they share, between 0 and 1.

        The smaller count of each value of the left column summed, over the larger counts summed. `look` is called now
        and then, and may end it by an error.
        """

    def mean(self, name: str) -> float:
        """The average of a column of numbers; 0 where it has none."""

    def frequent(self, name: str, most: int, least: float) -> list[Constant]:
        """The most frequent values of a column, those that at least so many rows hold."""

    def state_shares(self, slot: Slot) -> list[float]:
        """The share of ordered pairs of distinct rows in each state of a slot."""

    def support(self, form: Form) -> int:
        """How many rows have a partner that the rule speaks about."""

    def pairs(self, space: PredicateSpace, options: Options, tuning: Tuning = STANDARD) -> Pairs:
        """The pairs of rows in this space."""

    def unless_expired(self, budget: Budget, run: Callable[[], T]) -> T | None:
        """What `run` gives, which asks the table; None where the user, or the time limit, ended it."""


class LocalTable:
    """A table in this process."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.relation.n_rows

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.relation.names

    def type_of(self, name: str) -> ColumnType:
        """The type of a column."""
        return self.relation.type_of(name)

    def null_count(self, name: str) -> int:
        """How many rows are null or NaN in a column."""
        return self.relation.null_count(name)

    def shared_values(self, names: Sequence[str], look: Look = unhurried) -> dict[tuple[str, str], float]:
        """How many values each two of the columns share."""
        values, found = self._values(names), {}
        for place, a in enumerate(names):
            look()
            for b in names[place + 1 :]:
                found[a, b] = shared_share(values[a], values[b])
        return found

    def _values(self, names: Sequence[str]) -> dict[str, tuple[Counts, Counts]]:
        """Distinct values as numbers of one dictionary over the columns, ascending, and how often each occurs."""
        distinct, counts = [], []
        for name in names:
            encoded = self.relation.encode(name, ordered=False, dense=True)
            present = np.flatnonzero(encoded.values >= 0)[::-1]
            first = np.zeros(encoded.size, np.int64)
            first[encoded.values[present]] = present
            distinct.append(self.relation.column(name).take(row_numbers(first)))
            counts.append(np.bincount(encoded.values[present], minlength=encoded.size).astype(np.int64))
        out = {}
        for name, count, joint in zip(
            names, counts, Encoding.of_table(distinct, ordered=False, dense=True), strict=True
        ):
            order = np.argsort(joint.values, kind="stable")
            out[name] = joint.values[order].astype(np.int64), count[order]
        return out

    def mean(self, name: str) -> float:
        """The average of a column of numbers; 0 where it has none."""
        column = self.relation.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        mean = pc.mean(column).as_py()
        return 0.0 if mean is None else float(mean)

    def frequent(self, name: str, most: int, least: float) -> list[Constant]:
        """The most frequent values of a column, those that at least so many rows hold."""
        if self.type_of(name).family in (Family.TIME, Family.DURATION):
            return []
        encoded = self.relation.encode(name, ordered=False, dense=True)
        counts = np.bincount(encoded.values[encoded.values >= 0], minlength=encoded.size)
        ranked = [code for code in np.argsort(-counts, kind="stable")[:most] if counts[code] >= least]
        rows = [int(np.argmax(encoded.values == code)) for code in ranked]
        return [Constant(self.relation.column(name)[row].as_py()) for row in rows]

    def state_shares(self, slot: Slot) -> list[float]:
        """The share of ordered pairs of distinct rows in each state of a slot, exact from the values' counts."""
        return state_shares(self.relation, slot)

    def support(self, form: Form) -> int:
        """How many rows have a partner that the rule speaks about."""
        return support(self.relation, form)

    def unless_expired(self, budget: Budget, run: Callable[[], T]) -> T | None:
        """What `run` gives, which takes little time here; None where the user ended it."""
        try:
            return run()
        except KeyboardInterrupt:
            budget.interrupt()
            return None

    def pairs(self, space: PredicateSpace, options: Options, tuning: Tuning = STANDARD) -> Pairs:
        """The pairs of rows in this space."""
        from refute.discovery.local import LocalPairs

        return LocalPairs(self.relation, space, options, tuning)


def shared_share(left: tuple[Counts, Counts], right: tuple[Counts, Counts]) -> float:
    """How many values two columns share, between 0 and 1, seen from the left one's; each as values and counts."""
    _, here, there = np.intersect1d(left[0], right[0], assume_unique=True, return_indices=True)
    ours, theirs = left[1][here], right[1][there]
    largest = int(left[1].sum() - ours.sum() + np.maximum(ours, theirs).sum())
    return float(np.minimum(ours, theirs).sum() / largest) if largest else 0.0
