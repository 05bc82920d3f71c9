"""From a rule and a table to a problem in rank space: nulls, types, operators and one-row predicates end here."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from refute.faults import naming_rule
from refute.language.arithmetic import shown_column
from refute.language.conditions import InTable
from refute.language.form import Form, RowFilter, operands
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.problem import Comparison, Ints, Problem, ProblemSide, Rows
from refute.relation import Encoded, Relation

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule prepared for the kernels.

    Exactly one of the three is the case: `problem` holds a two-row rule, `rows` the violating rows of a one-row rule,
    and with neither, no pair can ever violate the rule on this table. `skipped_nulls` counts the rows that a null
    keeps from standing as `s` or as `t`.
    """

    problem: Problem | None
    rows: Rows | None
    skipped_nulls: int


@dataclass(frozen=True, slots=True)
class _Admission:
    """Which rows may stand on one side, and an identity for that choice."""

    mask: Mask | None  # None admits all
    label: Hashable

    def rows(self) -> Rows | None:
        return None if self.mask is None else _positions(self.mask)


def compile_rule(relation: Relation, rule: Rule, *, threads: int = 1) -> Compiled:
    """The rule over this table as integers; raises SchemaError where the two do not fit."""
    relation.bind(rule.constraint, rule=rule.name, where=rule.where)
    form = Form.of(rule)
    skipped = skipped_nulls(relation, form)
    if rule.constraint.is_single_row:
        with naming_rule(rule.name) if isinstance(rule.added, InTable) else nullcontext():
            found = _filtered(relation, form.side(Row.S), rule.nulls)
        assert found is not None
        return Compiled(None, _positions(found), skipped)
    if not form.possible:
        return Compiled(None, None, skipped)
    encoded = {predicate: _encode(relation, predicate, threads) for predicate in form.predicates}
    s_side, t_side = (_admit(relation, form, row, encoded) for row in Row)
    if s_side.label == t_side.label:
        t_side = s_side
    s_rows = s_side.rows()
    t_rows = s_rows if s_side is t_side else t_side.rows()

    def compared_by(predicates: Iterable[Predicate]) -> tuple[Comparison, ...]:
        whole = (_labelled(predicate, *encoded[predicate], form.nulls) for predicate in predicates)
        return tuple(_restricted(comparison, s_side, t_side, s_rows, t_rows) for comparison in whole)

    problem = Problem(
        s=ProblemSide.of(s_rows, relation.n_rows),
        t=ProblemSide.of(t_rows, relation.n_rows),
        equal=compared_by(form.equal),
        order=compared_by(one.predicate for one in form.order),
        differ=compared_by(form.differ),
        self_pairs=form.self_pairs,
    )
    return Compiled(problem, None, skipped)


def admitted_rows(relation: Relation, form: Form, row: Row) -> Mask:
    """Which rows may stand as `row`."""
    side = form.side(row)
    found = _filtered(relation, side, form.nulls)
    mask = np.ones(relation.n_rows, dtype=np.bool_) if found is None else found.copy()
    for name in side.barred:
        mask &= ~relation.is_null(name)
    return mask


def skipped_nulls(relation: Relation, form: Form) -> int:
    """How many of the rows that a rule is about a null keeps from standing as `s` or as `t`."""
    chosen = None if form.rule.scope is None else relation.condition_mask(form.rule.scope)
    names = sorted(name for name in form.barred() if relation.null_count(name))
    if not names:
        return 0
    missing = np.zeros(relation.n_rows, dtype=np.bool_)
    for name in names:
        missing |= relation.is_null(name)
    return int(np.count_nonzero(missing if chosen is None else missing & chosen))


def _filtered(relation: Relation, side: RowFilter, nulls: Nulls) -> Mask | None:
    """The rows of a side's `where` that meet its filters; None is all. Do not write to it."""
    masks = [] if side.where is None else [relation.condition_mask(side.where)]
    masks += [relation.mask(predicate, nulls) for predicate in side.filters]
    return reduce(np.logical_and, masks) if masks else None


def _positions(mask: Mask) -> Rows:
    return np.flatnonzero(mask).astype(np.int64, copy=False)


def _encode(relation: Relation, predicate: Predicate, threads: int) -> tuple[Encoded, Encoded]:
    left, right = operands(predicate)
    if left == right:
        one = relation.encode(left, ordered=predicate.op.is_order, threads=threads)
        return one, one
    first, second = relation.encode_joint((left, right), ordered=predicate.op.is_order, threads=threads)
    return first, second


def _admit(relation: Relation, form: Form, row: Row, encoded: dict[Predicate, tuple[Encoded, Encoded]]) -> _Admission:
    """The rows that may stand as `row`, by a label that says what keeps others out; codes show which are null."""
    side = form.side(row)
    mask = _filtered(relation, side, form.nulls)
    kept: set[Hashable] = set() if side.where is None else {side.where}
    kept.update(side.filters)
    for predicate, codes in encoded.items():
        place = int(row is Row.T)
        name = operands(predicate)[place]
        if codes[place].nulls and name in side.barred and ("not null", name) not in kept:
            kept.add(("not null", name))
            present = codes[place].values >= 0
            mask = present if mask is None else mask & present
    if mask is not None and bool(mask.all()):
        mask = None
    return _Admission(mask, None if mask is None else (form.nulls, frozenset(kept)))


def _labelled(predicate: Predicate, left: Encoded, right: Encoded, nulls: Nulls) -> Comparison:
    """The predicate as one of the three kinds over all rows, with a label by which rules share what it becomes."""
    with_nulls = nulls.reads(predicate.op) and bool(left.nulls or right.nulls)
    # A column may have several encodings; the relation keeps each, so their identities tell them apart.
    names, codes = operands(predicate), (id(left.values), id(right.values))
    label: Hashable = (*names, predicate.op, *codes)
    if not predicate.op.is_order:
        label = (*names, predicate.op, *codes, nulls) if with_nulls else (*names, "values", *codes)
    s_name, t_name = map(shown_column, names)
    name = s_name if s_name == t_name else f"s.{s_name}/t.{t_name}"
    return compared(predicate.op, left, right, with_nulls=with_nulls, label=label, name=name)


def compared(
    op: Operator, left: Encoded, right: Encoded, *, with_nulls: bool, label: Hashable | None = None, name: str = ""
) -> Comparison:
    """A comparison of two columns as one of the three kinds over all rows; order predicates become `<`.

    `with_nulls` gives nulls a code of their own, equal to itself only; else rows that hold some must be left out.
    """
    size = max(left.size, right.size)
    s, t = left.values, right.values
    if not op.is_order:
        if with_nulls:
            s = _with_null_code(s, size)
            t = s if left is right else _with_null_code(t, size)
        return Comparison(s, t, size + with_nulls, label, name=name)
    lag = int(op in (Operator.LE, Operator.GE))
    if size + lag > np.iinfo(s.dtype).max:
        s, t = s.astype(np.int64), t.astype(np.int64)
        t = s if left is right else t
    return Comparison(s, t, size + lag, label, turned=op in (Operator.GT, Operator.GE), lag=lag, name=name)


def _with_null_code(values: Ints, size: int) -> Ints:
    widened = values.astype(np.int64) if size >= np.iinfo(values.dtype).max else values
    return np.where(widened < 0, widened.dtype.type(size), widened)


def _restricted(
    comparison: Comparison, s_side: _Admission, t_side: _Admission, s_rows: Rows | None, t_rows: Rows | None
) -> Comparison:
    """The comparison over the admitted rows only."""
    if s_rows is None and t_rows is None:
        return comparison
    label = (comparison.label, s_side.label, t_side.label)
    return comparison.picked(s_rows, t_rows, together=s_rows is t_rows, label=label)
