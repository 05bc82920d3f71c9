"""Detection: verify and count on a million rows, against Desbordante, DuckDB and Polars, encoding included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.case import US, Case, Claim, Contestant, no_peer_faster
from benchmarks.measure import Measurement
from benchmarks.peers import peer
from benchmarks.rules import RULES, BenchRule
from benchmarks.tables import MILLION, read, tax
from refute import count, verify

SMALL = 100_000  # rows at which joins of the peers come to an end
DIRTY = 0.001  # wrong cells per row
KEYS = ("c1",)
GROUPED = ("c1", "c2", "c3")  # answered by group sizes alone
HARD = ("h11", "h10g", "h11g")
SHORT, LONG = 15, 90  # seconds after which a peer is stopped
TWO_ORDERS = ("c4", "c6", "c7", "c8", "c10", "c11")


def cases() -> Iterator[Case]:
    """Verify and count, each rule a case."""
    for rule in RULES.values():
        yield _verify(rule)
    for name in GROUPED:
        yield _count(RULES[name], MILLION, ("duckdb", "polars"), [no_peer_faster()])
    for name in ("c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"):
        claims = [no_peer_faster(50)] if name in TWO_ORDERS else [no_peer_faster()]
        yield _count(RULES[name], SMALL, ("duckdb", "polars"), claims)
        yield _count(
            RULES[name],
            MILLION,
            ("duckdb", "polars") if name in ("c5", "c9") else ("duckdb",),
            [no_peer_faster(), *([_under(0.1)] if name == "c9" else [])],
        )
    for name in ("c1", "c2", "c3", "c4"):
        yield _dirty(RULES[name])


def _verify(rule: BenchRule) -> Case:
    def contestants() -> Sequence[Contestant]:
        path = rule.table(MILLION)
        names = [*(["desbordante"] if rule.holds else []), "duckdb"]
        names += ["polars"] if rule.name in (*GROUPED, "c5") else []
        limit = LONG if rule.name in HARD else SHORT
        return [_ours("verify", rule, path), *(peer(name, "verify", rule.text, path, limit=limit) for name in names)]

    if rule.holds:
        claims = [no_peer_faster(), _ahead_of_desbordante(8 if rule.name in KEYS else 100)]
    else:
        claims = [_under(0.005)]
    found = "holds" if rule.holds else "is violated"
    return Case(f"detect.verify.{rule.name}", f"verify a rule that {found}: {rule.text}", contestants, claims)


def _count(rule: BenchRule, rows: int, peers: Sequence[str], claims: Sequence[Claim]) -> Case:
    def contestants() -> Sequence[Contestant]:
        path = rule.table(rows)
        limit = SHORT if rows == MILLION else LONG
        return [_ours("count", rule, path), *(peer(name, "count", rule.text, path, limit=limit) for name in peers)]

    size = "" if rows == MILLION else f"_{rows // 1000}k"
    return Case(f"detect.count{size}.{rule.name}", f"count on {rows:,} rows: {rule.text}", contestants, claims)


def _dirty(rule: BenchRule) -> Case:
    """Verification ends early or late, as the wrong cells happen to lie; counts are exact."""

    def contestants() -> Sequence[Contestant]:
        path = tax(MILLION, DIRTY)
        names = ("duckdb", "polars") if rule.name in GROUPED else ()
        return [_ours("count", rule, path), *(peer(name, "count", rule.text, path) for name in names)]

    return Case(
        f"detect.dirty.{rule.name}", f"count on a table with wrong cells: {rule.text}", contestants, [no_peer_faster()]
    )


def _ours(verb: str, rule: BenchRule, path: Path) -> Contestant:
    table = read(path)
    if verb == "count":
        return Contestant(US, call=lambda: count(table, rule.text))
    return Contestant(US, call=lambda: verify(table, rule.text).holds)


def _under(seconds: float) -> Claim:
    return Claim(f"takes under {seconds:g} s", lambda results: results[US].seconds < seconds)


def _ahead_of_desbordante(factor: float) -> Claim:
    def holds(results: Mapping[str, Measurement]) -> bool:
        peer_ = results.get("desbordante")
        return peer_ is None or peer_.seconds >= factor * results[US].seconds

    return Claim(f"Desbordante takes at least {factor:g} times as long", holds)
