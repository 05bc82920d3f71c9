"""Tables that speak for rules, although some rows break them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa


def people(n: int = 600, seed: int = 0, dirt: float = 0.02) -> pa.Table:
    """A made-up table with a key, a dependency, an order in groups, spans, a comparison and a domain; some dirty."""
    rng = np.random.default_rng(seed)
    zips = rng.integers(0, 40, n)
    city = np.array([f"city {z // 2}" for z in zips], object)
    wrong = rng.random(n) < dirt
    city[wrong] = [f"ctiy {k}" for k in range(int(wrong.sum()))]
    state = zips // 8
    salary = rng.integers(0, 5000, n)
    rate = salary // 50 + state
    room = rng.integers(0, 12, n)
    start = np.zeros(n, np.int64)
    for one in range(12):
        mine = np.flatnonzero(room == one)
        start[mine] = rng.permutation(len(mine)) * 10
    sex = rng.choice(["m", "f"], n)
    return pa.table(
        {
            "id": rng.permutation(n) + 1,
            "zip": [f"{z:05}" for z in zips],
            "city": city.tolist(),
            "state": state,
            "salary": salary,
            "rate": rate,
            "room": room,
            "start": start,
            "end": start + rng.integers(3, 10, n),
            "sex": sex.tolist(),
            "noise": rng.integers(0, 30, n),
        }
    )


def random_table(seed: int) -> pa.Table:
    """A small table of few values with dependencies, ties, nulls and some dirt."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    base = rng.integers(0, int(rng.integers(2, 12)), n)
    columns: dict[str, Any] = {"a": base, "b": base // 2 + rng.integers(0, 2, n) * (rng.random(n) < 0.1)}
    columns["c"] = rng.integers(0, 4, n)
    columns["d"] = (columns["b"] * 4 + columns["c"]) % 7
    columns["e"] = np.cumsum(rng.integers(0, 3, n))
    columns["f"] = columns["e"] + rng.integers(0, 5, n)
    columns["g"] = [f"v{v}" for v in columns["d"]]
    table = {name: pa.array(values) for name, values in columns.items()}
    for name in ("b", "g"):
        mask = rng.random(n) < 0.1
        table[name] = pa.array([None if hidden else v for v, hidden in zip(table[name].to_pylist(), mask, strict=True)])
    return pa.table(table)


def repeated(n: int = 2000, distinct: int = 60, seed: int = 0) -> pa.Table:
    """Rows of which few differ, numbered by a key. Among those that differ, each where it comes first, spans do not
    overlap and begin in the order of the key; among all rows nothing of it is true."""
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([np.arange(distinct), rng.integers(0, distinct, n - distinct)])
    few = {f"c{k}": rng.integers(0, 6, distinct) for k in range(4)}
    few |= {"base": np.arange(distinct) % 8, "half": np.arange(distinct) % 8 // 2}
    few["half"][3] = 9
    few |= {"start": np.arange(distinct), "end": np.arange(distinct) + 1}
    ids = np.arange(n)
    ids[[5, 9, n - 1]] += [1, 1, -1]
    return pa.table({name: values[chosen] for name, values in few.items()} | {"id": ids})


def odd(n: int, seed: int) -> pa.Table:
    """Columns of all types with nulls, NaN and both zeros, some of which follow from others; rows repeat."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 9, n)
    amount = rng.integers(0, 40, n)

    def holes(values: list[Any], share: float = 0.1) -> list[Any]:
        return [None if rng.random() < share else value for value in values]

    return pa.table(
        {
            "group by": pa.array(holes(group.tolist()), pa.int8()),
            "`na.me`": pa.array([f"g{g}" if rng.random() > 0.02 else "?" for g in group]),
            "day": pa.array(holes([dt.date(2020, 1, 1) + dt.timedelta(int(a)) for a in amount])),
            "price": pa.array(holes([Decimal(int(a)).scaleb(-2) for a in amount + group]), pa.decimal128(20, 2)),
            "share": pa.array(holes([(-0.0 if a == 0 else a / 7) for a in amount]), pa.float64()),
            "flag": pa.array(holes((group > 3).tolist()), pa.bool_()),
            "at": pa.array([dt.datetime(2021, 1, 1, 0, int(a), int(g)) for a, g in zip(amount, group, strict=True)]),
            "Größe": pa.array(rng.integers(0, 5, n)),
            "void": pa.array([None] * n, pa.int32()),
            "list": pa.array([[1]] * n),
        }
    )
