"""What a rule asks of rows, as far as it decides on how their suspects are found on Spark."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn

from refute.blame.shapes import spans_at
from refute.language.form import Form
from refute.language.predicate import Predicate
from refute.language.rulebook import Rule
from refute.spark.answer.pairing import Pairing


@dataclass(frozen=True, slots=True)
class BlameShape:
    """The shape of a rule: it is about one row, of one value, a chain, of spans, or none of these."""

    rule: Rule
    form: Form

    @classmethod
    def of(cls, rule: Rule) -> BlameShape:
        """The shape of a rule."""
        return cls(rule, Form.of(rule))

    @property
    def says_alike(self) -> bool:
        """Whether alike rows never clash, and what the rule keeps is found by what they weigh: a dependency, or two
        orders one of which is strict."""
        return self._is_plain and not self.form.self_pairs and self._sizes in ((0, 1), (1, 0), (2, 0))

    @property
    def is_one_value(self) -> bool:
        """Whether the rows of a group that have one value can stay, and of rows with one key one."""
        return self._is_plain and self._sizes in ((0, 0), (0, 1), (1, 0))

    @property
    def is_key(self) -> bool:
        """Whether all rows of a group clash."""
        return self.is_one_value and (self._sizes == (0, 0) or (bool(self.form.order) and not self._is_strict))

    @property
    def is_dependency(self) -> bool:
        """Whether one column must be the same where others are."""
        return self._is_plain and self._sizes == (0, 1)

    @property
    def has_groups(self) -> bool:
        """Whether it is a dependency between columns, with something on its left."""
        return self.is_dependency and bool(self.form.equal) and not self.rule.constraint.computes

    @property
    def is_decided(self) -> bool:
        """Whether the fewest rows that must go are found without rounds of counts."""
        return self.is_one_value or self.is_chain or self.is_spans

    @property
    def is_chain(self) -> bool:
        """Whether two orders must agree."""
        return self._is_plain and self._sizes == (2, 0)

    @property
    def is_spans(self) -> bool:
        """Whether no two spans of a group may overlap."""
        return not self.rule.constraint.is_single_row and self.form.possible and spans_at(self.form) is not None

    @property
    def is_mutual(self) -> bool:
        """Whether each clash of a rule of one value is two violations, one in each direction."""
        return not self.form.order

    def keys(self, pairing: Pairing) -> list[SparkColumn]:
        """What is equal in rows of one group, of a rule whose equalities compare each column with itself."""
        return [_own(pairing, one) for one in self.form.equal]

    def value(self, pairing: Pairing) -> SparkColumn | None:
        """What must be one in a group; None for rules of equalities alone."""
        compared = [*self.form.differ, *(one.predicate for one in self.form.order)]
        return _own(pairing, compared[0]) if compared else None

    @property
    def _is_plain(self) -> bool:
        return not self.rule.constraint.is_single_row and self.form.possible and self.form.aligned

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self.form.order), len(self.form.differ)

    @property
    def _is_strict(self) -> bool:
        return all(one.is_strict for one in self.form.order)


def _own(pairing: Pairing, predicate: Predicate) -> SparkColumn:
    """A column that is compared with itself, which Spark does exactly."""
    sides = pairing.operands(predicate)
    assert sides is not None
    return sides[0]
