"""Monitoring by LT-trees: Weever's choices against the others that its paper compares (section 6.3), and nested loops.

Each call lets the next 1000 rows come, or go. The rows before them came when the case was prepared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.case import US, Case, Claim, Contestant, no_peer_faster
from benchmarks.measure import Measurement
from benchmarks.rules import RULES
from benchmarks.streams import ROUNDS, STEP, Stream
from benchmarks.tables import pay, tax
from refute.live.indexes.lt_tree import LtTreeIndex, PredicateOrder, Scheduling, Tuning
from refute.live.indexes.nested_loop import NestedLoopIndex

KEPT = 100_000  # rows that are there when the clock starts
FEWER = 50_000  # the same, where many rules or nested loops take part
DIRTY = 0.001  # wrong cells per row
TAX = ("c1", "c2", "c3", "c4")

# The three overlaps of section 6.3.3: dependencies that share their left side, keys, and rules of all kinds.
OVERLAPS = {
    "high": [
        *(f"state= haschild= maritalstatus= {name}!=" for name in ("childexemp", "singleexemp", "marriedexemp")),
        *(f"zip= haschild= {name}!=" for name in ("city", "state", "childexemp")),
    ],
    "medium": [
        "areacode= phone=",
        "phone= fname= lname=",
        "zip= fname= lname= salary=",
        "phone= zip=",
        "phone= state= lname=",
        "zip= lname= fname= haschild= maritalstatus=",
        "fname= lname= city= salary=",
        "phone= city= salary=",
    ],
    "low": [
        "areacode= phone=",
        "zip= city!=",
        "state= haschild= childexemp!=",
        "state= salary> rate<",
        "zip= salary> rate<",
        "areacode= salary> rate<",
        "areacode= state!=",
        "fname= gender!=",
    ],
}


def cases() -> Iterator[Case]:
    """Orders of predicates, schedules, sizes of batches, deletes, and nested loops."""
    for name in TAX:
        yield _order(name)
    for name, rules in OVERLAPS.items():
        yield _schedule(name, [_text(rule) for rule in rules])
    yield _batches("tax", tax)
    yield _batches("pay", lambda rows, _: pay(rows))
    for name in TAX:
        yield _nested(name, [name])
    yield _nested("all", TAX)
    yield _deletes()


def _order(name: str) -> Case:
    """Figure 5."""

    def contestants() -> Sequence[Contestant]:
        stream = _stream([RULES[name].text], KEPT)
        return [_tuned(stream, KEPT, order.value, Tuning(predicate_order=order)) for order in PredicateOrder]

    title = f"1000 inserts, predicates by cardinality, as given, and the other way round: {RULES[name].text}"
    return Case(f"live_lt_tree.order.{name}", title, contestants, [_close_to_the_best()])


def _schedule(name: str, texts: Sequence[str]) -> Case:
    """Figure 6."""

    def contestants() -> Sequence[Contestant]:
        stream = _stream(texts, FEWER)
        return [_tuned(stream, FEWER, way.value, Tuning(scheduling=way)) for way in Scheduling]

    title = f"1000 inserts under {len(texts)} rules with {name} overlap: shared prefixes, operands, or nothing"
    return Case(f"live_lt_tree.schedule.{name}", title, contestants, [_close_to_the_best()])


def _batches(name: str, table: Callable[[int, float], Path]) -> Case:
    """Figure 7; `pay` has 20,000 different salaries where `tax` has 20."""

    def contestants() -> Sequence[Contestant]:
        stream = _stream([RULES["c4"].text], KEPT, table)
        return [
            *(_tuned(stream, KEPT, f"batches of {size}", Tuning(), size) for size in (STEP, 100, 10, 1)),
            _tuned(stream, KEPT, "as they came", Tuning(batches=False)),
        ]

    title = f"1000 inserts into {name}, in sorted batches of several sizes and in one as it came: {RULES['c4'].text}"
    return Case(f"live_lt_tree.batches.{name}", title, contestants, [_close_to_the_best()])


def _nested(name: str, rules: Sequence[str]) -> Case:
    """The baseline that needs no index."""

    def contestants() -> Sequence[Contestant]:
        stream = _stream([RULES[rule].text for rule in rules], FEWER)
        nested = stream.filled(NestedLoopIndex(stream.rules), FEWER)
        return [
            _tuned(stream, FEWER, US, Tuning()),
            Contestant("nested loops", call=stream.inserts(nested, FEWER)),
        ]

    title = f"1000 inserts beside {FEWER:,} rows, against nested loops: {', '.join(rules)}"
    return Case(f"live_lt_tree.nested.{name}", title, contestants, [no_peer_faster()])


def _deletes() -> Case:
    """Figure 8: from the violation store, by comparing again where violations were too many to store, and nested."""

    def contestants() -> Sequence[Contestant]:
        stream = _stream([RULES[rule].text for rule in TAX], FEWER)
        stored = stream.filled(LtTreeIndex(stream.rules), FEWER)
        unstored = stream.filled(LtTreeIndex(stream.rules), FEWER, limit=0)
        return [
            Contestant(US, call=stream.deletes(stored)),
            Contestant("not stored", call=stream.deletes(unstored)),
        ]

    title = f"1000 deletes of {FEWER:,} rows under four rules, violations stored or not"
    return Case("live_lt_tree.deletes", title, contestants, [no_peer_faster()])


def _stream(texts: Sequence[str], kept: int, table: Callable[[int, float], Path] = tax) -> Stream:
    rows = kept + ROUNDS * STEP
    return Stream(table(rows, DIRTY), texts, rows)


def _tuned(stream: Stream, kept: int, name: str, tuning: Tuning, batch: int = STEP) -> Contestant:
    """The method so tuned; as it is by default it is us."""
    index = stream.filled(LtTreeIndex(stream.rules, tuning), kept)
    is_ours = tuning == Tuning() and batch == STEP
    return Contestant(US if is_ours else name, call=stream.inserts(index, kept, batch))


def _text(rule: str) -> str:
    """A rule from short words such as `zip=`."""
    words = [word.rstrip("=!<>") for word in rule.split()]
    ops = [word[len(name) :] for word, name in zip(rule.split(), words, strict=True)]
    return f"not ({' and '.join(f's.{name} {op} t.{name}' for name, op in zip(words, ops, strict=True))})"


def _close_to_the_best() -> Claim:
    """The paper's claim: the order or schedule that is chosen is the fastest, or close to it."""

    def holds(results: Mapping[str, Measurement]) -> bool:
        return results[US].cpu_seconds <= 1.2 * min(result.cpu_seconds for result in results.values())

    return Claim("the paper's choice is the fastest, or within a fifth of it", holds)
