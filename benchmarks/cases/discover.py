"""Discovery: the papers' tables against Desbordante's FastADC on the same rows, and growth without peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from benchmarks.case import US, Case, Claim, Contestant, no_peer_faster
from benchmarks.measure import Measurement
from benchmarks.tables import read, tax
from benchmarks.worker import Worker
from refute.discover import discover

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FASTADC = "desbordante FastADC"
LIMIT = 300.0
# name, file, rows (all if None), cross-column predicates, how many times as long the peer is to take
PAPERS = (
    ("airport", "airport_30k_original.csv", None, False, 8.0),
    ("airport.cross", "airport_30k_original.csv", None, True, 8.0),
    ("tax1k", "tax_50k_clean.csv", 1_000, False, 1.0),
    ("tax10k", "tax_50k_clean.csv", 10_000, False, 15.0),
    ("adult", "adult_32k.csv", 24_000, False, 10.0),
    ("hospital", "hospital_10k_original.csv", None, False, 5.0),
    ("stock", "stock_127k.csv", None, False, 15.0),
)


def cases() -> Iterator[Case]:
    """One case per table of the papers that is here, then growth on the generated tax table."""
    for name, file, rows, cross, factor in PAPERS:
        if (DATA / file).exists():
            yield Case(
                f"discover.{name}",
                f"all rules of {file}{'' if rows is None else f', first {rows:,} rows'}",
                _against_fastadc(file, rows, cross),
                [no_peer_faster(factor)],
                same_answer=False,  # FastADC reads dates as text and has its own idea of empty cells
            )
    for dirty, most in ((0.0, 30.0), (0.001, 75.0)):
        yield Case(
            f"discover.million{'.dirty' if dirty else ''}",
            f"all rules of a million rows, {dirty:.1%} dirty",
            _million(dirty),
            [Claim(f"under {most:g} s", _under(most))],
        )


def papers_table(file: str, rows: int | None) -> pa.Table:
    """A table of the papers without nulls, which the peers cannot read: rows without a tax rate are left out."""
    options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(DATA / file, convert_options=options)
    if "rate" in table.column_names:
        table = table.filter(pc.is_valid(table["rate"]))
    for position, name in enumerate(table.column_names):
        if pa.types.is_string(table.schema.field(name).type):
            table = table.set_column(position, name, pc.fill_null(table[name], "missing"))
    return table if rows is None else table.slice(0, rows)


def _against_fastadc(file: str, rows: int | None, cross: bool) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        table = papers_table(file, rows)
        arguments = (file, str(rows or 0), str(int(cross)))
        peer = Worker("benchmarks.cases.discover:fastadc", arguments, limit=LIMIT)
        return [
            Contestant(US, call=lambda: len(discover(table, cross_columns=cross))),
            Contestant(FASTADC, worker=peer),
        ]

    return contestants


def fastadc(file: str, rows: str, cross: str) -> Callable[[], int]:
    """A run of FastADC with two threads over a table it has loaded; gives the number of rules."""
    import desbordante

    frame = papers_table(file, int(rows) or None).to_pandas()
    for name in frame.columns:
        if frame[name].dtype.kind not in "if":
            frame[name] = frame[name].astype(str).astype(object)

    def run() -> int:
        algorithm: Any = desbordante.dc.algorithms.FastADC()
        algorithm.load_data(table=frame)
        algorithm.execute(
            evidence_threshold=0,
            shard_length=0,
            allow_cross_columns=cross == "1",
            minimum_shared_value=0.3,
            comparable_threshold=0.1,
            threads=2,
        )
        return len(algorithm.get_dcs())

    return run


def _million(dirty: float) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        table = read(tax(dirty=dirty))
        return [Contestant(US, call=lambda: len(discover(table, cross_columns=False)))]

    return contestants


def _under(most: float) -> Callable[[Mapping[str, Measurement]], bool]:
    return lambda found: found[US].seconds < most
