"""Which contest a rule is: by the shape of its problem, as nulls, types, operators and `where` end there."""

from __future__ import annotations

import numpy as np

from refute.blame.contest import Chain, Contest, GroupedRows, Ids, Longs, OneValue, Partners, Spans
from refute.blame.rounds import Loose
from refute.blame.tuples import tallied
from refute.kernels.sort.distinct import mix, numbered
from refute.kernels.sort.sorting import sorted_positions
from refute.language.form import Form, operands
from refute.language.operators import Operator
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.problem import Comparison, Problem

_LARGEST = 2**62
_Common = tuple[Rule, Problem, Partners, int, Longs | None]


def contest_of(
    rule: Rule,
    problem: Problem,
    partners: Partners,
    n_rows: int,
    times: Longs | None = None,
    known: Longs | None = None,
) -> Contest:
    """The rule as the most exact contest that its shape admits; `known` tells how common the right-hand value of each
    row is, where that is not to be counted."""
    common: _Common = (rule, problem, partners, n_rows, times)
    form = Form.of(rule)
    alike = problem.aligned and all(one.same_codes for one in problem.equal + problem.differ)
    if not alike or len(problem.differ) > 1 or (problem.differ and problem.order):
        return Loose(*common)
    orders = problem.order
    if not orders:
        groups = _groups(problem, problem.differ, times, known)
        return OneValue(*common, groups, is_key=not problem.differ, mutual=True)
    if len(orders) == 1 and orders[0].same_codes:
        # Rows with different values clash in one direction; with `<=` those with equal values do, too.
        if orders[0].lag:
            return OneValue(*common, _groups(problem, (), times, known), is_key=True, mutual=False)
        return OneValue(*common, _groups(problem, orders, times, known), is_key=False, mutual=False)
    if len(orders) == 2 and all(one.same_codes for one in orders):
        return _chain(common, problem)
    at = spans_at(form)
    return Loose(*common) if at is None else _spans(common, problem, at)


def _groups(problem: Problem, value: tuple[Comparison, ...], times: Longs | None, known: Longs | None) -> GroupedRows:
    """Points by what must be equal, and within these by the value that must be one; without any, each by itself."""
    rows, n = problem.s.row_numbers(), problem.s.size
    groups, firsts = _numbers(problem.equal, n)
    if not value:
        return GroupedRows(rows, np.arange(n, dtype=np.int32), groups, np.zeros(n, np.int64), len(firsts))
    values, _ = _numbers(value, n)
    pairs, first_points = _numbered(groups.astype(np.int64) * (int(values.max(initial=0)) + 1) + values)
    if known is None:
        common = tallied(values, None if times is None else times[rows])[values[first_points]]
    else:
        common = known[rows[first_points]]
    return GroupedRows(rows, pairs, groups[first_points], common, len(firsts))


def _chain(common: _Common, problem: Problem) -> Chain:
    """Sorted such that what stays ascends in both ranks: the second is turned, as the rule forbids the same way."""
    x, y = problem.order
    groups = _numbers(problem.equal, problem.s.size)[0].astype(np.int64)
    (first, firsts), (second, seconds) = _ranks(x.s, x.size), _ranks(y.size - 1 - y.s.astype(np.int64), y.size)
    strict = (x.lag == 0, y.lag == 0)
    tied = second if strict[0] else seconds - 1 - second
    size = (int(groups.max(initial=0)) + 1) * firsts * seconds
    if size <= _LARGEST:
        order = sorted_positions((groups * firsts + first) * seconds + tied, size)
    else:
        order = np.lexsort((tied, first, groups))
    points = np.ascontiguousarray(np.stack([groups, first, second])[:, order])
    return Chain(*common, points, problem.s.row_numbers()[order], strict)


def spans_at(form: Form) -> int | None:
    """Which order of a rule says that a span starts before another ends, where it says that no two of a group overlap;
    None for rules of other shapes."""
    if form.differ or len(form.order) != 2 or any(one.is_cross_column for one in form.equal):
        return None
    if form.side(Row.S) != form.side(Row.T):
        return None
    predicates = [one.predicate for one in form.order]
    for at, (one, other) in enumerate((predicates, predicates[::-1])):
        if one.op not in (Operator.LT, Operator.LE) or other.op is not one.op.mirrored:
            continue
        if one.is_cross_column and operands(one) == operands(other)[::-1]:
            return at
    return None


def _spans(common: _Common, problem: Problem, at: int) -> Spans:
    """The rule as spans of two columns, of which no two overlap."""
    compared = problem.order[at]
    groups = _numbers(problem.equal, problem.s.size)[0].astype(np.int64)
    start, end = (codes.astype(np.int64) for codes in compared.codes)
    if (end < start).any():  # such spans are settled by a tree over all values, which may lie far apart
        start, end = np.split(_ranks(np.concatenate([start, end]), compared.size)[0], 2)
    order = np.lexsort((start, end, groups))
    points = np.ascontiguousarray(np.stack([groups, start, end])[:, order])
    return Spans(*common, points, problem.s.row_numbers()[order], closed=compared.lag == 1)


def _ranks(codes: Ids | Longs, size: int) -> tuple[Longs, int]:
    """Codes in `[0, size)` without the gaps that would make sorts and trees large, and their number."""
    if size <= max(2 * len(codes), 1):
        return codes.astype(np.int64), size
    distinct, ranks = np.unique(codes, return_inverse=True)
    return ranks.astype(np.int64), len(distinct)


def _numbers(compared: tuple[Comparison, ...], n: int) -> tuple[Ids, Longs]:
    """A number for each point by the values of side s, in order of appearance, and the first point of each number."""
    keys, size = np.zeros(n, np.int64), 1
    for one in compared:
        if size * (one.size + 1) > _LARGEST:
            numbers, firsts = _numbered(keys)
            keys, size = numbers.astype(np.int64), len(firsts) + 1
        mix(keys, one.s, one.size + 1)
        size = size * (one.size + 1) + 1
    return _numbered(keys)


def _numbered(keys: Longs) -> tuple[Ids, Longs]:
    found = numbered(keys, len(keys))
    assert found is not None
    return found
