"""From a rule and a table to a problem in rank space: nulls, types, operators and one-row predicates end here."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from refute.language.conditions import Condition
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.problem import Comparison, Ints, Problem, Rows, Side
from refute.relation import Encoded, Relation

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule made ready for the kernels.

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
        return None if self.mask is None else np.flatnonzero(self.mask).astype(np.int64, copy=False)


def compile_rule(
    relation: Relation,
    rule: DenialConstraint,
    nulls: Nulls = Nulls.SQL,
    where: Condition | None = None,
    *,
    threads: int = 1,
) -> Compiled:
    """The rule over this table as integers; raises SchemaError where the two do not fit."""
    relation.bind(rule)
    chosen = _condition_mask(relation, where)
    if rule.is_single_row:
        return _compile_single_row(relation, rule, nulls, chosen)
    two_row = merge_predicates([predicate for predicate in rule.predicates if predicate.is_two_row])
    skipped = _skipped_nulls(relation, rule, nulls, chosen)
    if two_row is None:
        return Compiled(None, None, skipped)
    encoded = [_encode(relation, predicate, threads) for predicate in two_row]
    s_side, t_side = (_admit(relation, rule, row, nulls, two_row, encoded, chosen, where) for row in (Row.S, Row.T))
    if s_side.label == t_side.label:
        t_side = s_side
    s_rows = s_side.rows()
    t_rows = s_rows if s_side is t_side else t_side.rows()
    built: dict[str, list[Comparison]] = {"equal": [], "order": [], "differ": []}
    for predicate, (left, right) in zip(two_row, encoded, strict=True):
        kind = {Operator.EQ: "equal", Operator.NE: "differ"}.get(predicate.op, "order")
        comparison = _labelled(predicate, left, right, nulls)
        built[kind].append(_restricted(comparison, s_side, t_side, s_rows, t_rows))
    problem = Problem(
        s=Side.of(s_rows, relation.n_rows),
        t=Side.of(t_rows, relation.n_rows),
        equal=tuple(built["equal"]),
        order=tuple(built["order"]),
        differ=tuple(built["differ"]),
        self_pairs=not any(not p.is_cross_column and p.op.is_strict for p in two_row),
    )
    return Compiled(problem, None, skipped)


def can_be_violated(rule: Rule) -> bool:
    """Whether no two predicates over the same columns exclude each other."""
    return merge_predicates([predicate for predicate in rule.constraint.predicates if predicate.is_two_row]) is not None


def admitted_rows(relation: Relation, rule: Rule, row: Row) -> Mask:
    """Which rows may stand as `row` in a two-row rule: chosen, true to its one-row predicates, not null where read."""
    chosen = _condition_mask(relation, rule.where)
    mask = np.ones(relation.n_rows, dtype=np.bool_) if chosen is None else chosen.copy()
    for predicate in rule.constraint.predicates:
        if predicate.rows == {row}:
            mask &= relation.mask(predicate, rule.nulls)
    for name in barred_columns(rule.constraint, row, rule.nulls):
        mask &= ~relation.is_null(name)
    return mask


def skipped_nulls(relation: Relation, rule: Rule) -> int:
    """How many of the rows that a rule is about a null keeps from standing as `s` or as `t`."""
    return _skipped_nulls(relation, rule.constraint, rule.nulls, _condition_mask(relation, rule.where))


def _compile_single_row(relation: Relation, rule: DenialConstraint, nulls: Nulls, chosen: Mask | None) -> Compiled:
    mask = np.ones(relation.n_rows, dtype=np.bool_) if chosen is None else chosen.copy()
    for predicate in rule.predicates:
        mask &= relation.mask(predicate, nulls)
    rows = np.flatnonzero(mask).astype(np.int64, copy=False)
    return Compiled(None, rows, _skipped_nulls(relation, rule, nulls, chosen))


def _condition_mask(relation: Relation, where: Condition | None) -> Mask | None:
    if where is None:
        return None
    return relation.shared(("where", where), lambda: relation.condition_mask(where))


def merge_predicates(predicates: list[Predicate]) -> list[Predicate] | None:
    """The predicates with those over the same operands made one; None when two exclude each other."""
    merged: dict[tuple[str, str], Predicate] = {}
    for predicate in predicates:
        assert isinstance(predicate.right, Column)
        operands = (predicate.left.name, predicate.right.name)
        known = merged.get(operands)
        if known is not None:
            op = known.op.meet(predicate.op)
            if op is None:
                return None
            predicate = replace(known, op=op)
        merged[operands] = predicate
    return list(merged.values())


def _encode(relation: Relation, predicate: Predicate, threads: int) -> tuple[Encoded, Encoded]:
    assert isinstance(predicate.right, Column)
    left, right = predicate.left.name, predicate.right.name
    if left == right:
        one = relation.encode(left, ordered=predicate.op.is_order, threads=threads)
        return one, one
    first, second = relation.encode_joint((left, right), ordered=predicate.op.is_order, threads=threads)
    return first, second


def reads_nulls(op: Operator, nulls: Nulls) -> bool:
    """Whether a comparison with null can be true."""
    return nulls is Nulls.EQUAL and not op.is_order


def _admit(
    relation: Relation,
    rule: DenialConstraint,
    row: Row,
    nulls: Nulls,
    two_row: list[Predicate],
    encoded: list[tuple[Encoded, Encoded]],
    chosen: Mask | None,
    where: Condition | None,
) -> _Admission:
    """The rows that may stand as `row`: chosen, true to its one-row predicates, and not null where that matters."""
    mask = chosen
    filters: set[Hashable] = set() if where is None else {where}
    for predicate in rule.predicates:
        if predicate.rows == {row}:
            filters.add(predicate if row is Row.S else predicate.swapped())
            found = relation.mask(predicate, nulls)
            mask = found if mask is None else mask & found
    barred = barred_columns(rule, row, nulls)
    for predicate, pair in zip(two_row, encoded, strict=True):
        side, column = (pair[0], predicate.left) if row is Row.S else (pair[1], predicate.right)
        assert isinstance(column, Column)
        if side.nulls and column.name in barred and ("not null", column.name) not in filters:
            filters.add(("not null", column.name))
            present = side.values >= 0
            mask = present if mask is None else mask & present
    if mask is not None and bool(mask.all()):
        mask = None
    return _Admission(mask, None if mask is None else (nulls, frozenset(filters)))


def _labelled(predicate: Predicate, left: Encoded, right: Encoded, nulls: Nulls) -> Comparison:
    """The predicate as one of the three kinds over all rows, with a label by which rules share what is made of it."""
    assert isinstance(predicate.right, Column)
    with_nulls = reads_nulls(predicate.op, nulls) and bool(left.nulls or right.nulls)
    # A column may have several encodings; the relation keeps each, so their identities tell them apart.
    names, codes = (predicate.left.name, predicate.right.name), (id(left.values), id(right.values))
    label: Hashable = (*names, predicate.op, *codes)
    if not predicate.op.is_order:
        label = (*names, predicate.op, *codes, nulls) if with_nulls else (*names, "values", *codes)
    name = names[0] if names[0] == names[1] else f"s.{names[0]}/t.{names[1]}"
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


def barred_columns(rule: DenialConstraint, row: Row, nulls: Nulls) -> set[str]:
    """The columns whose null keeps a row from standing as `row`."""
    return {
        column.name
        for predicate in rule.predicates
        if not reads_nulls(predicate.op, nulls)
        for column in predicate.columns
        if column.row is row
    }


def _skipped_nulls(relation: Relation, rule: DenialConstraint, nulls: Nulls, chosen: Mask | None) -> int:
    """How many of the chosen rows a null keeps from standing as `s` or as `t`."""
    barred = barred_columns(rule, Row.S, nulls) | barred_columns(rule, Row.T, nulls)
    names = sorted(name for name in barred if relation.null_count(name))
    if not names:
        return 0
    missing = np.zeros(relation.n_rows, dtype=np.bool_)
    for name in names:
        missing |= relation.is_null(name)
    return int(np.count_nonzero(missing if chosen is None else missing & chosen))
