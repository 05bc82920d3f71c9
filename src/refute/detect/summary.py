"""Tables of few distinct values in process: a rule is answered from the distinct rows and how often each occurs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.detect.weighted import WeightedPartners, weighted_partners
from refute.kernels.sort.distinct import KeyTally, distinct_values, mix, numbered
from refute.language.form import Form, operands
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Encoded, Relation
from refute.relation.arrays import row_numbers

_SAMPLE_ROWS = 4096
_LARGEST_CODE = 2**31
_LARGEST_KEY = 2**62
_BLOCK = 1 << 16  # rows whose keys are made at a time
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SummaryTuning:
    """Where distinct rows are worth looking for; no answer depends on it."""

    least_rows: int = 50_000
    simple_rows: int = 1 << 18  # the same where counting is as simple as verifying
    few_repeats: int = 10  # rows per distinct one from which a summary is cheaper than counting all pairs
    many_repeats: int = 200  # rows per distinct one from which it is cheaper than looking for a first pair


SUMMARIES = SummaryTuning()


@dataclass(frozen=True, slots=True)
class Summary:
    """The distinct rows of the columns that a rule reads, each with its number of copies."""

    table: pa.Table
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, relation: Relation, rule: Rule, repeats: int) -> Summary | None:
        """The summary for a rule; None where its distinct rows repeat less often than asked."""
        names = rule.compared
        found = _distinct(relation, rule, names, relation.n_rows // repeats)
        if found is None:
            return None
        firsts, counts = found
        columns = [relation.column(name).take(row_numbers(firsts)) for name in names]
        return cls(pa.table(columns, names=list(names)), counts)

    def partners(self, rule: Rule) -> WeightedPartners:
        """The partners of each distinct row, for a rule that `can_weigh`."""
        problem = compile_rule(Relation.of(self.table), rule).problem
        assert problem is not None
        return weighted_partners(problem, self.weights)


def expected_distinct(sampled: int, seen: int) -> float:
    """How many distinct rows a table has, judged by those seen in a sample as if all were equally frequent."""
    if seen > 0.95 * sampled:
        return math.inf
    low, high = float(max(seen, 1)), float(max(seen, 1)) * 1e6
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        if middle * -math.expm1(-sampled / middle) < seen:
            low = middle
        else:
            high = middle
    return high


def _expected_distinct(sample: NDArray[np.signedinteger]) -> float:
    return expected_distinct(len(sample), distinct_values(sample))


def _distinct(relation: Relation, rule: Rule, names: tuple[str, ...], room: int) -> tuple[Ints, Ints] | None:
    """The first position and the number of each distinct combination of values; None where they exceed the room."""
    columns: list[NDArray[np.signedinteger]] = []
    digits: list[int] = []
    step = max(relation.n_rows // _SAMPLE_ROWS, 1)
    encoded = _encoded(relation, rule, names)
    for name, one in sorted(zip(names, encoded, strict=True), key=lambda each: -each[1].size):
        sample = one.values[::step]
        if relation.shared(("expected distinct", name), partial(_expected_distinct, sample)) > room:
            return None
    for one in encoded:
        codes, size = one.values, one.size + 1
        if size > _LARGEST_CODE:  # few values far apart: numbered, so keys stay short
            found = numbered(codes, room)
            if found is None:
                return None
            codes, size = found[0], len(found[1]) + 1
        if math.prod(digits) * size > _LARGEST_KEY:
            found = numbered(_keys(columns, digits, slice(None)), room)
            if found is None:
                return None
            columns, digits = [found[0]], [len(found[1]) + 1]
        columns.append(codes)
        digits.append(size)
    sampled = _keys(columns, digits, slice(None, None, step))
    if _expected_distinct(sampled) > room:
        return None
    tally = KeyTally(room)
    for start in range(0, relation.n_rows, _BLOCK):
        if not tally.add(_keys(columns, digits, slice(start, start + _BLOCK))):
            return None
    return tally.firsts, tally.counts


def _encoded(relation: Relation, rule: Rule, names: tuple[str, ...]) -> list[Encoded]:
    """The columns as integers: as the rule compares them where it does, so none is encoded twice."""
    known: dict[str, Encoded] = {}
    for predicate in Form.of(rule).predicates:
        pair = operands(predicate)
        found = relation.encode_joint(pair, ordered=predicate.op.is_order)
        known |= dict(zip(pair, found, strict=True))
    return [known[name] if name in known else relation.encode(name, ordered=False) for name in names]


def _keys(columns: list[NDArray[np.signedinteger]], digits: list[int], rows: slice) -> Ints:
    """One key for each of these rows."""
    keys = np.zeros(len(columns[0][rows]), dtype=np.int64)
    for codes, size in zip(columns, digits, strict=True):
        mix(keys, codes[rows], size)
    return keys
