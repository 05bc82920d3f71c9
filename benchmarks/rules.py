"""The rules of the detection benchmarks, as texts, and the tables they are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import holding, lineitem, tax


@dataclass(frozen=True, slots=True)
class BenchRule:
    """A rule with the maker of its table: rows in, file out."""

    name: str
    text: str
    table: Callable[[int], Path]
    holds: bool


def _rule(name: str, conjunction: str, table: Callable[[int], Path], *, holds: bool) -> BenchRule:
    return BenchRule(name, f"not ({conjunction})", table, holds)


_RULES = (
    _rule("c1", "s.areacode = t.areacode and s.phone = t.phone", tax, holds=True),
    _rule("c2", "s.zip = t.zip and s.city != t.city", tax, holds=True),
    _rule("c3", "s.state = t.state and s.haschild = t.haschild and s.childexemp != t.childexemp", tax, holds=True),
    _rule("c4", "s.state = t.state and s.salary > t.salary and s.rate < t.rate", tax, holds=True),
    _rule("c5", "s.customer = t.supplier and s.supplier = t.customer", lineitem, holds=False),
    _rule("c6", "s.receiptdate >= t.shipdate and s.shipdate <= t.receiptdate", lineitem, holds=False),
    _rule("c7", "s.extprice > t.extprice and s.discount < t.discount", lineitem, holds=False),
    _rule(
        "c8",
        "s.qty = t.qty and s.tax = t.tax and s.extprice > t.extprice and s.discount < t.discount",
        lineitem,
        holds=False,
    ),
    _rule("c9", "s.tax != t.tax and s.extprice != t.extprice", lineitem, holds=False),
    _rule(
        "c10",
        "s.qty = t.qty and s.extprice > t.extprice and s.discount < t.discount and s.tax < t.tax",
        lineitem,
        holds=False,
    ),
    _rule(
        "c11",
        "s.supplier = t.supplier and s.extprice >= t.extprice and s.discount <= t.discount and s.tax <= t.tax "
        "and s.qty >= t.qty",
        lineitem,
        holds=False,
    ),
    _rule("h7", "s.extprice > t.extprice and s.discount7 < t.discount7", holding, holds=True),
    _rule(
        "h8",
        "s.qty = t.qty and s.tax = t.tax and s.extprice > t.extprice and s.discount8 < t.discount8",
        holding,
        holds=True,
    ),
    _rule(
        "h10",
        "s.qty = t.qty and s.price10 > t.price10 and s.discount10 < t.discount10 and s.tax10 < t.tax10",
        holding,
        holds=True,
    ),
    _rule(
        "h11",
        "s.supplier = t.supplier and s.price11 >= t.price11 and s.discount11 <= t.discount11 and s.tax11 <= t.tax11 "
        "and s.qty11 >= t.qty11",
        holding,
        holds=True,
    ),
    _rule(
        "h10g",
        "s.price10 > t.price10 and s.discount10 < t.discount10 and s.tax10 < t.tax10",
        holding,
        holds=True,
    ),
    _rule(
        "h11g",
        "s.price11 >= t.price11 and s.discount11 <= t.discount11 and s.tax11 <= t.tax11 and s.qty11 >= t.qty11",
        holding,
        holds=True,
    ),
)
RULES = {rule.name: rule for rule in _RULES}
