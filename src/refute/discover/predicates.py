"""Which predicates are worth asking of a table: the rules of the papers, with their thresholds as options."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.discover.options import Options
from refute.discover.space import Slot, Space
from refute.discover.states import kind_of
from refute.errors import OptionError, did_you_mean
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Row
from refute.relation import Family, Relation
from refute.relation.encode import encode_columns


@dataclass(frozen=True, slots=True)
class Values:
    """The distinct values of a column as numbers shared with its peers, ascending, and how often each occurs."""

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


def predicate_space(relation: Relation, options: Options) -> tuple[Space, tuple[str, ...]]:
    """The slots to search, and a sentence for each thing that is left out."""
    names, notes = _columns(relation, options)
    slots = [_slot(relation, options, Column(Row.S, name), Column(Row.T, name)) for name in names]
    if options.cross_columns or options.one_row:
        for a, b, ordered in comparable_columns(relation, names, options):
            if options.cross_columns:
                slots.append(_slot(relation, options, Column(Row.S, a), Column(Row.T, b), ordered))
            if options.one_row:
                slots.extend(_slot(relation, options, Column(r, a), Column(r, b), ordered) for r in Row)
    if options.constants:
        for name in names:
            for constant in frequent_values(relation, name, options):
                slots.extend(_slot(relation, options, Column(row, name), constant) for row in Row)
    return Space(tuple(slot for slot in slots if slot.kind.operators)), notes


def _columns(relation: Relation, options: Options) -> tuple[list[str], tuple[str, ...]]:
    """The columns that can be compared, in the table's order, and what is said of the others."""
    wanted = list(relation.names) if options.columns is None else list(options.columns)
    for name in wanted:
        if name not in relation.names:
            raise OptionError(f"there is no column {name!r}.{did_you_mean(name, relation.names)}")
    names, notes = [], []
    for name in dict.fromkeys(relation.names):
        if name not in wanted:
            continue
        if list(relation.names).count(name) > 1:
            notes.append(f"column {name!r} was left out: the table has it more than once")
            continue
        kind = relation.type_of(name)
        if kind.family is Family.UNSUPPORTED:
            notes.append(f"column {name!r} was left out: values of type {kind.arrow_type} cannot be compared")
        elif relation.n_rows and relation.null_count(name) == relation.n_rows:
            notes.append(f"column {name!r} was left out: it holds no values")
        else:
            names.append(name)
    return names, tuple(notes)


def is_ordered(relation: Relation, name: str) -> bool:
    """Whether discovery orders the column: numbers, dates and timestamps are ordered, all else only told apart."""
    family = relation.type_of(name).family
    return family.is_number or family.is_temporal


def _slot(relation: Relation, options: Options, left: Column, right: Column | Constant, ordered: bool = True) -> Slot:
    nullable = any(relation.null_count(c.name) for c in (left, right) if isinstance(c, Column))
    kind = kind_of(
        ordered=ordered and is_ordered(relation, left.name),
        nullable=nullable,
        nulls=options.nulls,
        operators=tuple(op for op in Operator if op in options.operators),
    )
    return Slot(left, right, kind)


def comparable_columns(relation: Relation, names: list[str], options: Options) -> list[tuple[str, str, bool]]:
    """Pairs of columns of one type that share enough values, in the table's order, and whether order is asked too.

    Shared values: the smaller count of each value of the left column summed, over the larger counts summed.
    """
    families = {name: relation.type_of(name).family for name in names}
    values: dict[str, Values] = {}
    for family in dict.fromkeys(families.values()):
        peers = [name for name in names if families[name] is family]
        if len(peers) > 1:
            values |= _values(relation, peers)
    pairs = []
    for a, b in combinations(names, 2):
        if families[a] is not families[b] or shared_share(values[a], values[b]) <= options.shared_values:
            continue
        comparable = not families[a].is_number
        if not comparable:
            first, second = sorted((abs(_mean(relation, a)), abs(_mean(relation, b))))
            comparable = second == 0.0 or first / second > options.average_ratio
        pairs.append((a, b, comparable))
    return pairs


def shared_share(left: Values, right: Values) -> float:
    """How many values two columns share, between 0 and 1, seen from the left one's values."""
    _, here, there = np.intersect1d(left.codes, right.codes, assume_unique=True, return_indices=True)
    ours, theirs = left.counts[here], right.counts[there]
    largest = int(left.counts.sum() - ours.sum() + np.maximum(ours, theirs).sum())
    return float(np.minimum(ours, theirs).sum() / largest) if largest else 0.0


def _values(relation: Relation, names: list[str]) -> dict[str, Values]:
    """The value counts of columns of one type, numbered by one dictionary over their distinct values."""
    distinct, counts = [], []
    for name in names:
        encoded = relation.encode(name, ordered=False, dense=True)
        present = np.flatnonzero(encoded.values >= 0)[::-1]
        first = np.zeros(encoded.size, np.int64)
        first[encoded.values[present]] = present
        distinct.append(relation.column(name).take(pa.array(first)))
        counts.append(np.bincount(encoded.values[present], minlength=encoded.size).astype(np.int64))
    out = {}
    for name, count, joint in zip(names, counts, encode_columns(distinct, ordered=False, dense=True), strict=True):
        order = np.argsort(joint.values, kind="stable")
        out[name] = Values(joint.values[order].astype(np.int64), count[order])
    return out


def _mean(relation: Relation, name: str) -> float:
    column = relation.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    mean = pc.mean(column).as_py()
    return 0.0 if mean is None else float(mean)


def frequent_values(relation: Relation, name: str, options: Options) -> list[Constant]:
    """The most frequent values of a column that enough rows hold, most frequent first."""
    encoded = relation.encode(name, ordered=False, dense=True)
    if relation.type_of(name).family in (Family.TIME, Family.DURATION):
        return []
    counts = np.bincount(encoded.values[encoded.values >= 0], minlength=encoded.size)
    ranked = np.argsort(-counts, kind="stable")[: options.constants]
    column = relation.column(name)
    found = []
    for code in ranked:
        if counts[code] >= max(1.0, options.constant_share * relation.n_rows):
            row = int(np.argmax(encoded.values == code))
            found.append(Constant(column[row].as_py()))
    return found
