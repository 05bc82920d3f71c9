"""Encoding one column of a million rows: Refute against pandas `factorize(sort=True)`, in one run.

    python benchmarks/encoding.py [--rows N] [--runs N] [--json FILE]

Both sides start from their own in-memory column (Arrow and pandas) and give dense codes in the order of the values.
A further column shows the sparse ordered codes that most rules get by with. Exits with 1 if a numeric kind is below 2x.
Strings are shown but not counted, and end in a dash.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from refute.relation import Relation

GOAL = 2.0


def columns(n: int, seed: int = 1) -> dict[str, tuple[pa.Array, Any, bool]]:
    """By name: the Arrow column, the pandas column, and whether the goal applies."""
    rng = np.random.default_rng(seed)
    prices = rng.integers(90_000, 90_000 + 193_000 * n // 1_000_000, n) / 100
    reals = rng.choice(rng.normal(size=max(193_000 * n // 1_000_000, 1)), n)
    days = np.datetime64("1992-01-01") + rng.integers(0, 2_526, n)
    cents = rng.integers(-(10**9), 10**9, n)
    wide = rng.integers(10**9, 2 * 10**9, n)
    numeric = {
        "float, 193k distinct, 2 places": prices,
        "float, 193k distinct, no decimals": reals,
        "float, all distinct": rng.normal(size=n),
        "int, 39k distinct": rng.integers(0, 39_000, n),
        "int, 39k distinct, full range": rng.choice(rng.integers(-(2**63), 2**63 - 1, 39_000), n),
        "int64, all distinct": rng.permutation(n) * 1_000_003,
        "int64, all distinct, full range": rng.integers(-(2**63), 2**63 - 1, n),
    }
    found: dict[str, tuple[pa.Array, Any, bool]] = {
        name: (pa.array(values), values, True) for name, values in numeric.items()
    }
    found["date"] = (pa.array(days), pd.Series(days), True)
    found["timestamp, all distinct"] = (pa.array(wide * 1_000_003, pa.timestamp("us")), _moments(wide), True)
    found["decimal(12, 2)"] = (_decimals(cents, 12), pd.Series(cents).map(lambda c: Decimal(int(c)).scaleb(-2)), True)
    found["decimal(38, 2), wide"] = (
        _decimals(cents, 38, 10**20),
        pd.Series(cents).map(lambda c: Decimal(int(c) * 10**20).scaleb(-2)),
        True,
    )
    strings = {
        "string, 50 distinct, 2 bytes": rng.choice([f"{a}{b}" for a in "ABCDE" for b in "KLMNOPQRST"], n),
        "string, 30k distinct, 5 bytes": np.array([f"{code:05d}" for code in rng.integers(0, 30_000, n)]),
        "string, 20k distinct, 8-25 bytes": rng.choice([f"City of {'x' * (i % 13)}{i}" for i in range(20_000)], n),
        "string, all distinct, 18 bytes": np.array([f"Customer#{code:09d}" for code in rng.permutation(n)]),
        "string, all distinct, 32 bytes": np.array([rng.bytes(16).hex() for _ in range(n)]),
    }
    for name, values in strings.items():
        found[name] = (pa.array(values, pa.string()), pd.Series(values, dtype=object), False)
    return found


def _moments(wide: np.ndarray[Any, Any]) -> pd.Series:
    return pd.Series((wide * 1_000_003).astype("datetime64[us]"))


def _decimals(cents: np.ndarray[Any, Any], precision: int, factor: int = 1) -> pa.Array:
    return pa.array([Decimal(int(c) * factor).scaleb(-2) for c in cents], pa.decimal128(precision, 2))


def encode(table: pa.Table, dense: bool) -> object:
    """Ordered codes of the only column, from scratch."""
    return Relation.of(table).encode("c", ordered=True, dense=dense)


def median_ms(run: Callable[[], object], runs: int) -> float:
    """The median wall time in milliseconds."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return 1000 * statistics.median(taken)


def main() -> int:
    """Prints the table; 1 if a numeric kind misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    missed = False
    print(f"{'ms per ' + format(options.rows, ',') + ' rows':38}{'pandas':>9}{'dense':>9}{'ratio':>8}{'sparse':>9}")
    for name, (column, peer, counted) in columns(options.rows).items():
        table = pa.table({"c": column})
        warm = Relation.of(table)
        codes, _ = pd.factorize(peer, sort=True)
        assert np.array_equal(codes, warm.encode("c", ordered=True, dense=True).values), name
        warm.encode("c", ordered=True)
        runs = options.runs if counted else min(options.runs, 3)
        pandas_ms = median_ms(partial(pd.factorize, peer, sort=True), runs)
        dense_ms = median_ms(partial(encode, table, dense=True), runs)
        sparse_ms = median_ms(partial(encode, table, dense=False), runs)
        ratio = pandas_ms / dense_ms
        print(f"{name:38}{pandas_ms:9.1f}{dense_ms:9.1f}{ratio:7.1f}x{sparse_ms:9.1f}{'' if counted else '  -'}")
        missed |= counted and ratio < GOAL
        results.append({"column": name, "pandas_ms": pandas_ms, "dense_ms": dense_ms, "sparse_ms": sparse_ms})
    if options.json:
        options.json.write_text(json.dumps({"rows": options.rows, "results": results}, indent=2))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
