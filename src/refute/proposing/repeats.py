"""Tables whose rows repeat each other: rules are found among the rows that differ, and must be true of all rows.

A row that is equal to another breaks nothing new, except a key or spans that must not overlap. But columns that are
different in almost every row do not make a row, so rules that read one of them are about rows that were left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn
from refute.proposing.questions import OpenQuestion
from refute.proposing.scores import Limits
from refute.relation import Relation


@dataclass(frozen=True, slots=True, eq=False)
class AllRows:
    """All rows of a table, of which those that repeat others are left out; `apart` are the columns that do not make a
    row."""

    relation: Relation
    columns: Sequence[CodedColumn]
    apart: frozenset[str]
    limits: Limits
    seed: int

    def settled(self, found: Iterable[Candidate]) -> list[Candidate]:
        """The candidates that are true of all rows."""
        by_name = {column.name: column for column in self.columns}
        kept = []
        for one in found:
            answers: Sequence[Candidate] = ()
            if is_open(one, self.apart):
                question = question_of(one)
                columns = [by_name[name] for name in question.columns]
                answers = question.judged(self.relation, columns, self.limits, self.seed)
            kept += settled_by(one, answers, self.apart)
        return kept


def is_open(one: Candidate, apart: Collection[str]) -> bool:
    """Whether rows that were left out may break a candidate more often than those among which it was found."""
    return one.figures.blame > 0 or _reads_all(one, apart)


def question_of(one: Candidate) -> OpenQuestion:
    """What is asked of all rows about a candidate."""
    return OpenQuestion(one.shape, one.columns, one.form if one.shape is RuleShape.ORDER else "")


def settled_by(one: Candidate, answers: Iterable[Candidate], apart: Collection[str]) -> list[Candidate]:
    """The candidate, unless all rows were asked about it and do not agree: with figures of all rows where it is about
    them, else of those that differ."""
    if is_open(one, apart):
        same = [answer for answer in answers if str(answer) == str(one)]
        if not same or _reads_all(one, apart):
            return same
    return [replace(one, figures=replace(one.figures, distinct=True))]


def _reads_all(one: Candidate, apart: Collection[str]) -> bool:
    return one.shape in (RuleShape.KEY, RuleShape.NO_OVERLAP) or not set(one.columns).isdisjoint(apart)
