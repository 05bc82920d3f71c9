"""The tables that benchmarks read: made once, kept as Parquet in `benchmarks/data`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.tax import Domains, tax_parts, tax_table

DATA = Path(__file__).parent / "data"
MILLION = 1_000_000
LINES_PER_SCALE = 6_000_000  # rows of lineitem at scale factor 1
MONEY = pa.decimal128(15, 2)


def tax(rows: int = MILLION, dirty: float = 0.0) -> Path:
    """Tax, clean or with one wrong cell in a fraction of the rows."""
    name = f"tax_{rows}" + (f"_dirty_{dirty:g}" if dirty else "")
    return _made(name, lambda: tax_table(rows, dirty=dirty))


def pay(rows: int) -> Path:
    """State, salary and rate of Tax with salaries of 20,000 different amounts; one row in 100,000 has a wrong cell."""
    path = DATA / f"pay_{rows}.parquet"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        partial = path.with_suffix(".partial")
        domains = Domains(salary_step=5)
        parts = tax_parts(rows, ("state", "salary", "rate"), domains, dirty=1e-5)
        first = next(parts)
        with pq.ParquetWriter(partial, first.schema, compression="zstd") as file:
            file.write_table(first)
            for part in parts:
                file.write_table(part)
        partial.rename(path)
    return path


def lineitem(rows: int = MILLION) -> Path:
    """TPC-H lineitem with the customer of its order, under the names that the rules use."""
    return _made(f"lineitem_{rows}", lambda: _lineitem(rows))


def holding(rows: int = MILLION) -> Path:
    """Lineitem's groups with columns made so that c7, c8, c10 and c11 hold, and are hard to see to hold."""
    return _made(f"holding_{rows}", lambda: _holding(pq.read_table(lineitem(rows))))


def planes(rows: int) -> Path:
    """Points of a plane, x and y, each of many values; nine of ten rows are in group 0."""
    return _made(f"planes_{rows}", lambda: _planes(rows))


@cache
def read(path: Path) -> pa.Table:
    """The table in memory, each column in one piece."""
    return pq.read_table(path).combine_chunks()


def csv_of(path: Path) -> Path:
    """The table as a CSV file, for peers that read nothing else; without the row number."""
    target = path.with_suffix(".csv")
    if not target.exists():
        table = pq.read_table(path).drop_columns(["id"])
        partial = target.with_suffix(".partial")
        pyarrow.csv.write_csv(table, partial, pyarrow.csv.WriteOptions(quoting_style="none"))
        partial.rename(target)
    return target


def _made(name: str, make: Callable[[], pa.Table]) -> Path:
    path = DATA / f"{name}.parquet"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        table = make()
        numbered = table.append_column("id", pa.array(np.arange(table.num_rows)))
        partial = path.with_suffix(".partial")
        pq.write_table(numbered, partial, compression="zstd")
        partial.rename(path)
    return path


def _lineitem(rows: int) -> pa.Table:
    tool = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpchgen-cli")
    assert tool is not None, "tpchgen-cli makes the table: run `make tools`"
    with tempfile.TemporaryDirectory() as folder:
        scale = f"{1.01 * rows / LINES_PER_SCALE:.4f}"
        command = [tool, "parquet", "-s", scale, "--tables=lineitem,orders", f"--output-dir={folder}"]
        subprocess.run(command, check=True, capture_output=True)
        names = ["orderkey", "suppkey", "quantity", "extendedprice", "discount", "tax", "shipdate", "receiptdate"]
        lines = pq.read_table(f"{folder}/lineitem.parquet", columns=[f"l_{name}" for name in names])
        orders = pq.read_table(f"{folder}/orders.parquet", columns=["o_orderkey", "o_custkey"])
    lines = lines.slice(0, rows)
    customer = orders.column("o_custkey").take(pc.index_in(lines.column("l_orderkey"), orders.column("o_orderkey")))
    columns = ["l_orderkey", "supplier", "qty", "extprice", "discount", "tax", "shipdate", "receiptdate"]
    return lines.rename_columns(columns).append_column("customer", customer)


def _holding(lines: pa.Table) -> pa.Table:
    rng = np.random.default_rng(11)
    n = lines.num_rows
    price = _cents(lines, "extprice")
    qty, tax_ = _cents(lines, "qty") // 100, _cents(lines, "tax")
    spread = 1 + (qty * 31 + tax_ * 17) % 90
    found = lines.select(["supplier", "qty", "tax", "extprice"])
    # c10 and c11 hold on points of a plane: whoever is smaller in all but one coordinate is larger in the last.
    points = rng.integers(0, 10_000_000, (6, n))
    added = {
        "discount7": price * 11 // (price.max() + 1),
        "discount8": np.clip(price // (spread * 10_000), 0, 10),
        "discount10": points[0],
        "tax10": points[1],
        "price10": points[0] + points[1],
        "discount11": points[2],
        "tax11": points[3],
        "qty11": points[4],
        "price11": points[2] + points[3] - points[4] + 10_000_000,
    }
    for name, values in added.items():
        found = found.append_column(name, _money(values))
    return found


def _planes(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    group = np.where(rng.random(rows) < 0.9, 0, rng.integers(1, 1000, rows))
    return pa.table({"g": group, "x": rng.integers(0, 10_000_000, rows), "y": rng.integers(0, 10_000_000, rows)})


def _cents(table: pa.Table, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(pc.multiply(table.column(name), 100).cast(pa.int64()).to_numpy())


def _money(cents: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """Cents as decimals of two places."""
    limbs = np.stack([cents, cents >> 63], 1)
    return pa.Array.from_buffers(MONEY, len(cents), [None, pa.py_buffer(limbs.astype(np.int64).tobytes())])
