"""Denial constraints: what no pair of rows (or no row) may satisfy."""

from __future__ import annotations

from dataclasses import dataclass

from refute.language.predicate import Predicate, Row


@dataclass(frozen=True, slots=True)
class DenialConstraint:
    """`not (p1 and ... and pm)` over two distinct rows `s` and `t`, or over one row when only one is mentioned."""

    predicates: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        if not self.predicates:
            raise ValueError("a denial constraint needs at least one predicate")
        if self.rows == {Row.T}:  # a rule about one row is always about row s
            object.__setattr__(self, "predicates", tuple(predicate.swapped() for predicate in self.predicates))

    @property
    def rows(self) -> frozenset[Row]:
        """The row variables that the predicates mention."""
        return frozenset(row for predicate in self.predicates for row in predicate.rows)

    @property
    def is_single_row(self) -> bool:
        """Whether a violation is one row rather than a pair."""
        return len(self.rows) == 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns it reads, each once, in order of appearance."""
        return tuple(dict.fromkeys(column.name for predicate in self.predicates for column in predicate.columns))

    def swapped(self) -> DenialConstraint:
        """The constraint with the roles of the two rows exchanged: its violations are the same pairs reversed."""
        return DenialConstraint(tuple(predicate.swapped() for predicate in self.predicates))
