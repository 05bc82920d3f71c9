"""A rule as tasks need to know it: its keys and axes, who may stand where, and the rules that tasks check."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.language.constraint import DenialConstraint
from refute.language.form import Form, operands
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.compile import admitted_rows
from refute.relation import Relation
from refute.spark.grid.axis import Axis
from refute.spark.grid.groups import EqualityKey

AS_S, AS_T, SELF, BUCKET = "__as_s", "__as_t", "__self", "__bucket"
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class GridShape:
    """The form of a rule over columns of some types."""

    form: Form
    keys: tuple[EqualityKey, ...]
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, form: Form, types: Relation) -> GridShape:
        """The shape; `types` are those of the columns, with or without rows."""
        keys = (EqualityKey.of(one, types, form.rule.nulls) for one in form.equal)
        return cls(form, tuple(keys), tuple(Axis.of(one, types) for one in form.order))

    @property
    def exact(self) -> bool:
        """Whether the rows of a large group are known to have equal keys."""
        return all(key.exact for key in self.keys)

    def fitted(self, sample: pa.Table) -> GridShape:
        """The shape for a table like the sample."""
        return replace(self, axes=tuple(axis.fitted(sample) for axis in self.axes))

    def admitted(self, table: pa.Table) -> tuple[Mask, Mask]:
        """Which rows may stand as `s`, and which as `t`."""
        relation = Relation.of(table)
        s_rows = admitted_rows(relation, self.form, Row.S)
        return s_rows, s_rows if self.form.aligned else admitted_rows(relation, self.form, Row.T)

    def columns(self, first: int, *, with_keys: bool) -> dict[str, set[Row]]:
        """The columns that tasks compare by value, axes from `first` on, and the roles in which they are read."""
        read = (*(self.form.equal if with_keys else ()), *(one.predicate for one in self.form.order[first:]))
        found: dict[str, set[Row]] = {}
        for predicate in (*read, *self.form.differ):
            for row, name in zip(Row, operands(predicate), strict=True):
                found.setdefault(name, set()).add(row)
        return found

    def class_rule(self, first: int, *, apart: bool) -> Rule:
        """The rule within the tiles of axis `first`: tiles before it and values from it on."""
        predicates = [across(BUCKET, Operator.EQ, BUCKET)]
        for i, axis in enumerate(self.axes[:first]):
            s_name, t_name = step_names(i, axis, apart=apart)
            predicates.append(across(s_name, Operator.LT if axis.order.ascending else Operator.GT, t_name))
        for i, order in enumerate(self.form.order[first:], first):
            names = value_names(i) if order.nulls_first else operands(order.predicate)
            predicates.append(across(names[0], order.predicate.op, names[1]))
        return self._rule([*predicates, *self.form.differ], apart=apart)

    def whole_rule(self, *, apart: bool, in_buckets: bool) -> Rule:
        """The rule within groups that a task gets whole, or in parts that meet in buckets."""
        predicates = [across(BUCKET, Operator.EQ, BUCKET)] if in_buckets or not self.form.predicates else []
        predicates += self.form.equal
        for i, order in enumerate(self.form.order):
            names = value_names(i) if order.nulls_first else operands(order.predicate)
            predicates.append(across(names[0], order.predicate.op, names[1]))
        return self._rule([*predicates, *self.form.differ], apart=apart)

    def _rule(self, predicates: list[Predicate], *, apart: bool) -> Rule:
        if apart or not self.form.aligned:
            predicates = [
                Predicate.of(Column(Row.S, AS_S), Operator.EQ, Constant(True)),
                Predicate.of(Column(Row.T, AS_T), Operator.EQ, Constant(True)),
                *predicates,
            ]
        if apart and self.form.self_pairs:
            predicates = [*predicates, across(SELF, Operator.NE, SELF)]
        return replace(self.form.rule, constraint=DenialConstraint(tuple(predicates)), where=None)

    def with_values(self, table: pa.Table) -> pa.Table:
        """The table with numbers in place of values among which null is one, which kernels could not order."""
        for i, order in enumerate(self.form.order):
            names = operands(order.predicate)
            if not order.nulls_first or not set(names) <= set(table.column_names):
                continue
            codes = Relation.of(table.select(list(dict.fromkeys(names)))).encode_joint(names, ordered=True)
            for name, code in zip(value_names(i), codes, strict=True):
                if name not in table.column_names:
                    table = table.append_column(name, pa.array(code.values.astype(np.int64)))
        return table


def across(s_name: str, op: Operator, t_name: str) -> Predicate:
    """A predicate between a column of `s` and a column of `t`."""
    return Predicate.of(Column(Row.S, s_name), op, Column(Row.T, t_name))


def step_names(i: int, axis: Axis, *, apart: bool) -> tuple[str, str]:
    """The columns that hold the steps of axis i for `s` and for `t`."""
    both = not apart and axis.settles_ties
    return f"__step{i}", f"__step{i}_t" if both else f"__step{i}"


def value_names(i: int) -> tuple[str, str]:
    """The columns that hold numbers in place of the values of axis i, for `s` and for `t`."""
    return f"__value{i}", f"__value{i}_t"
