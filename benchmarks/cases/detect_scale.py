"""Detection at scale: many rules at once, threads, the first call of a process, growth, memory, many orders."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pyarrow as pa

from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement
from benchmarks.rules import RULES, BenchRule
from benchmarks.tables import MILLION, holding, read, tax
from refute import check, count, parse, verify
from refute.detect.detector import Detector
from refute.language.predicate import Column
from refute.language.rulebook import RuleBook
from refute.relation import Relation
from refute.runtime.threads import available_cores

ONE_THREAD = "refute, one thread"
ONE_BY_ONE = "refute, one rule at a time"
TEN_TIMES = "refute, ten times the rows"
FOUR_SORTS = "four sorts"
FULL_PASS = "refute, all rows at once"
HOLDING = ("c1", "c2", "c3", "c4", "h7", "h8", "h10", "h11", "h11g")
NO_CALL = "the same process without a call"

FRESH = """
import pyarrow.parquet, refute, sys
table = pyarrow.parquet.read_table({path!r})
if {calls}:
    print(refute.verify(table, {rule!r}).holds, refute.count(table, {rule!r}))
"""


def cases() -> Iterator[Case]:
    """Cases without peers: we are measured against ourselves, and against a sort."""
    yield Case(
        "detect.many",
        "check 20 rules that share predicates",
        _many,
        [Claim("well under 20 single runs: half or less", lambda found: _ratio(found, ONE_BY_ONE) >= 2)],
    )
    for name in ("c2", "c4", "c7", "c10", "c11", "h10", "h11g"):
        yield Case(
            f"detect.threads.{name}",
            f"all cores on one rule: {RULES[name].text}",
            lambda rule=RULES[name]: _threads(rule),  # type: ignore[misc]
            [Claim("all cores are no slower than one", lambda found: _ratio(found, ONE_THREAD) >= 0.9)],
        )
    for name in HOLDING:
        yield Case(
            f"detect.early.{name}",
            f"what looking at prefixes first costs a rule that holds: {RULES[name].text}",
            lambda rule=RULES[name]: _early(rule),  # type: ignore[misc]
            [Claim("at most 1.5 times a full pass", lambda found: _ratio(found, FULL_PASS) >= 1 / 1.5)],
        )
    yield Case(
        "detect.first",
        "the first calls of a fresh process, kernels cached on disk",
        _first,
        [Claim("adds under 1 s", lambda found: found[US].seconds - found[NO_CALL].seconds < 1.0)],
        same_answer=False,
    )
    for name in ("c1", "c2", "c4", "c7"):
        yield Case(
            f"detect.growth.{name}",
            f"count, and ten times the rows: {RULES[name].text}",
            lambda rule=RULES[name]: _growth(rule),  # type: ignore[misc]
            [Claim("ten times the rows take at most 12 times as long", lambda found: _ratio(found, TEN_TIMES) <= 12)],
            same_answer=False,
        )
    for rule in RULES.values():
        yield _memory(rule)
    yield Case(
        "detect.four",
        f"four orders over one group, rule holds: {RULES['h11g'].text}",
        _four,
        [Claim("under 3 times the sorts", lambda found: found[US].seconds < 3 * found[FOUR_SORTS].seconds)],
        same_answer=False,
    )


def shared_rules() -> list[str]:
    """Twenty rules over few columns, as discovery proposes them."""
    keys = ("s.state = t.state", "s.zip = t.zip", "s.state = t.state and s.haschild = t.haschild", "s.city = t.city")
    clashes = (
        "s.salary > t.salary and s.rate < t.rate",
        "s.rate != t.rate",
        "s.salary >= t.salary and s.singleexemp < t.singleexemp",
        "s.childexemp != t.childexemp",
        "s.singleexemp > t.singleexemp and s.rate < t.rate",
    )
    return [f"not ({key} and {clash})" for key, clash in product(keys, clashes)]


def _many() -> Sequence[Contestant]:
    table = read(tax(MILLION))
    rules = [parse(text) for text in shared_rules()]
    return [
        Contestant(US, call=lambda: [one.finding.violations for one in check(table, rules)]),
        Contestant(ONE_BY_ONE, call=lambda: [next(iter(check(table, rule))).finding.violations for rule in rules]),
    ]


def _threads(rule: BenchRule) -> Sequence[Contestant]:
    table = read(rule.table(MILLION))
    if rule.holds:
        return [
            Contestant(US, call=lambda: verify(table, rule.text).holds),
            Contestant(ONE_THREAD, call=lambda: verify(table, rule.text, threads=1).holds),
        ]
    return [
        Contestant(US, call=lambda: count(table, rule.text)),
        Contestant(ONE_THREAD, call=lambda: count(table, rule.text, threads=1)),
    ]


def _early(rule: BenchRule) -> Sequence[Contestant]:
    table = read(rule.table(MILLION))
    whole = RuleBook.of(rule.text)[0]

    def full_pass() -> bool:
        detector = Detector(Relation.of(table), threads=available_cores())
        return detector.verify_all(whole).holds

    return [
        Contestant(US, call=lambda: verify(table, rule.text).holds),
        Contestant(FULL_PASS, call=full_pass),
    ]


def _first() -> Sequence[Contestant]:
    path = str(tax(100_000))
    codes = [FRESH.format(path=path, rule=RULES["c4"].text, calls=calls) for calls in (True, False)]
    commands = [[sys.executable, "-c", code] for code in codes]
    return [Contestant(US, command=commands[0]), Contestant(NO_CALL, command=commands[1])]


def _growth(rule: BenchRule) -> Sequence[Contestant]:
    columns = parse(rule.text).columns
    one, ten = (read(rule.table(rows)).select(columns) for rows in (MILLION, 10 * MILLION))
    return [
        Contestant(US, call=lambda: count(one, rule.text)),
        Contestant(TEN_TIMES, call=lambda: count(ten, rule.text)),
    ]


def _memory(rule: BenchRule) -> Case:
    def contestants() -> Sequence[Contestant]:
        table = read(rule.table(MILLION))
        if rule.holds:
            return [Contestant(US, call=lambda: verify(table, rule.text).holds)]
        return [Contestant(US, call=lambda: count(table, rule.text))]

    def holds(results: Mapping[str, Measurement]) -> bool:
        peak = results[US].peak_bytes
        return peak is None or peak <= 3 * encoded_bytes(read(rule.table(MILLION)), rule.text)

    return Case(
        f"detect.memory.{rule.name}",
        f"memory of a {'verdict' if rule.holds else 'count'}: {rule.text}",
        contestants,
        [Claim("peak above the input is at most 3 times the encoded columns of the rule", holds)],
    )


def encoded_bytes(table: pa.Table, text: str) -> int:
    """The bytes of the codes that the relation makes for a rule: one integer per row and column that the rule reads.

    A column is encoded as the rule compares it (with an order or without, together with another column or alone);
    a column that needs two encodings counts with both. What a rule takes besides, copies and structures alike, is
    what it is measured for, as is the peak while columns are encoded.
    """
    relation = Relation.of(table)
    codes = {}
    for predicate in parse(text).predicates:
        assert isinstance(predicate.right, Column)
        pair = (predicate.left.name, predicate.right.name)
        for one in relation.encode_joint(pair, ordered=predicate.op.is_order):
            codes[id(one.values)] = one.values
    return sum(values.nbytes for values in codes.values())


def _four() -> Sequence[Contestant]:
    rule = RULES["h11g"]
    table = read(holding(MILLION))
    columns = [
        Relation.of(table).encode(name, ordered=True).values.astype(np.int64) for name in parse(rule.text).columns
    ]
    return [
        Contestant(US, call=lambda: verify(table, rule.text).holds),
        Contestant(FOUR_SORTS, call=lambda: [len(np.argsort(column)) for column in columns]),
    ]


def _ratio(results: Mapping[str, Measurement], name: str) -> float:
    return results[name].seconds / results[US].seconds
