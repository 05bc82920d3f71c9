"""Discovery: the papers' tables against Desbordante's FastADC on the same rows, its parts, and growth without peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import refute
from benchmarks.case import US, Case, Claim, Contestant, no_peer_faster
from benchmarks.measure import Measurement
from benchmarks.tables import MILLION, read, tax
from benchmarks.tax import COLUMNS
from benchmarks.worker import Worker
from refute.discovery import search as search_module
from refute.discovery.inversion.inverted import inverted
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.search import discover
from refute.discovery.space.predicates import space_for
from refute.discovery.table import LocalTable
from refute.discovery.work import Budget
from refute.relation import Relation

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FASTADC = "desbordante FastADC"
KEPT = "refute, implied rules kept"
# name, file, rows (all if None), cross-column predicates, how many times as long the peer is to take, and the seconds
# after which it is stopped
PAPERS = (
    ("airport", "airport_30k_original.csv", None, False, 8.0, 120.0),
    ("airport.cross", "airport_30k_original.csv", None, True, 8.0, 120.0),
    ("tax10k", "tax_50k_clean.csv", 10_000, False, 15.0, 120.0),
    ("adult", "adult_32k.csv", 24_000, False, 10.0, 240.0),
    ("hospital", "hospital_10k_original.csv", None, False, 5.0, 120.0),
    ("stock", "stock_127k.csv", None, False, 15.0, 120.0),
    ("small.airport", "airport_30k_original.csv", 1_000, True, 1.0, 30.0),
    ("small.tax", "tax_50k_clean.csv", 1_000, False, 1.0, 30.0),
    ("small.adult", "adult_32k.csv", 1_000, False, 1.0, 30.0),
    ("small.hospital", "holoclean_hospital_clean.csv", None, False, 1.0, 30.0),
    ("small.flights", "raha_flights_dirty.csv", 1_900, True, 1.0, 30.0),
    ("small.beers", "raha_beers_clean.csv", 1_900, True, 1.0, 30.0),
    ("small.soccer", "soccer_10k_clean.csv", 200, True, 1.0, 30.0),
    ("small.stock", "stock_127k.csv", 500, False, 1.0, 30.0),
)
# name, file, rows, seconds that inverting the evidence of all pairs may take
INVERSIONS = (("adult", "adult_32k.csv", 24_000, 20.0), ("uce", "uce_14k_11cols.csv", None, 20.0))
# name, file, rows, nanoseconds that a pair may take on one thread
TILES = (("tax", "tax_50k_clean.csv", 10_000, 7.0), ("airport", "airport_30k_original.csv", None, 4.0))
# share of dirty rows, seconds that a million of them may take
MILLIONS = ((0.0, 30.0), (0.001, 75.0))
GROWTH = 8.0  # times as long that ten times as many rows may take
GIGABYTES = 4.0
ON_SPARK = 900.0  # seconds that ten million rows may take there


def cases() -> Iterator[Case]:
    """The tables of the papers, inversion and tiles alone, and growth on the generated tax table."""
    for name, file, rows, cross, factor, limit in PAPERS:
        yield Case(
            f"discover.{name}",
            f"all rules of {_title(file, rows)}{', with cross-column predicates' if cross else ''}",
            _against_fastadc(file, rows, cross, limit),
            [no_peer_faster(factor)],
            same_answer=False,  # FastADC reads dates as text and has its own idea of empty cells
        )
    for name, file, rows, most in INVERSIONS:
        title = f"rules from the evidence of all pairs of {_title(file, rows)}"
        yield Case(f"discover.inversion.{name}", title, _inversion(file, rows), [_under(most)])
    for name, file, rows, nanoseconds in TILES:
        title = f"evidence of all pairs of {_title(file, rows)}, one thread"
        yield Case(f"discover.tiles.{name}", title, _tiles(file, rows), [_per_pair(file, rows, nanoseconds)])
    yield Case(
        "discover.tiles.wide",
        "evidence of all pairs of 162 columns, no two alike, against that of 15 columns, one thread",
        _wide,
        [Claim("at most 20 times the CPU per pair and word", _per_word)],
        same_answer=False,  # different tables
    )
    for name in ("adult", "tax"):
        yield Case(
            f"discover.implied.{name}",
            f"all rules of {name} with cross-column predicates, against the same search that keeps implied rules",
            _implied(name),
            [Claim("at most twice the CPU", lambda found: found[US].cpu_seconds <= 2 * found[KEPT].cpu_seconds)],
            same_answer=False,  # the other has more rules
        )
    for dirty, most in MILLIONS:
        yield Case(
            f"discover.growth{'.dirty' if dirty else ''}",
            f"guided search for all rules of the generated tax table, {dirty:.1%} dirty",
            _growth(dirty),
            [_under(most), _grows(), _within(GIGABYTES)],
            same_answer=False,  # the rules of different tables
        )
    title = "all rules of ten million rows of the generated tax table on Spark, local[2]"
    yield Case("discover.spark.10m", title, _ten_million, [_under(ON_SPARK)])


def _title(file: str, rows: int | None) -> str:
    return file if rows is None else f"{file}, first {rows:,} rows"


def papers_table(file: str, rows: int | None) -> pa.Table:
    """A table of the papers that peers can read too: no nulls and no columns that hold nothing, dates as numbers.

    Missing text becomes a word, rows without some number are left out.
    """
    options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(DATA / file, convert_options=options)
    for name in table.column_names:
        column, kind = table[name], table.schema.field(name).type
        if pa.types.is_null(kind):
            table = table.drop_columns([name])
            continue
        if pa.types.is_string(kind):
            column = pc.fill_null(column, "missing")
        elif pa.types.is_date32(kind):
            column = column.cast(pa.int32())
        elif pa.types.is_timestamp(kind) or pa.types.is_time(kind):
            column = column.cast(pa.string())
        table = table.set_column(table.column_names.index(name), name, column)
    return table.drop_null().slice(0, rows)


def _absent(file: str) -> list[Contestant]:
    """Nobody, and why, if the table is not there."""
    return [] if (DATA / file).exists() else [Contestant(US, absent=f"{file} is not in {DATA}")]


def _against_fastadc(file: str, rows: int | None, cross: bool, limit: float) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        if absent := _absent(file):
            return absent
        table = papers_table(file, rows)
        arguments = (file, str(rows or 0), str(int(cross)))
        peer = Worker("benchmarks.cases.discover:fastadc", arguments, limit=limit)
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
            shard_length=min(350, len(frame)),  # its default; one shard for all rows takes gigabytes and is slower
            allow_cross_columns=cross == "1",
            minimum_shared_value=0.3,
            comparable_threshold=0.1,
            threads=2,
        )
        return len(algorithm.get_dcs())

    return run


def _pairs(file: str, rows: int | None) -> LocalPairs:
    options = Options(cross_columns=False)
    relation = Relation.of(papers_table(file, rows))
    return LocalPairs(relation, space_for(LocalTable(relation), options)[0], options)


def _inversion(file: str, rows: int | None) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        if absent := _absent(file):
            return absent
        pairs = _pairs(file, rows)
        states = pairs.everything(Budget(Options()))[0].states
        return [Contestant(US, call=lambda: len(inverted(pairs.space, states, Budget(Options()), mirrored=True)[0]))]

    return contestants


def _tiles(file: str, rows: int | None) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        if absent := _absent(file):
            return absent
        pairs = _pairs(file, rows)
        return [Contestant(US, call=lambda: len(pairs.everything(Budget(Options(threads=1)))[0]))]

    return contestants


def _growth(dirty: float) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        def contestant(name: str, rows: int) -> Contestant:
            table = read(tax(rows, dirty)).drop_columns(["id"])
            return Contestant(name, call=lambda: len(discover(table, cross_columns=False, method="guided")))

        return [contestant(name, rows) for name, rows in SIZES.items()]

    return contestants


# columns, how many of them are copies of no other, and rows. No two pairs of the wide table compare alike; those of the
# narrow one compare in 20,000 ways, twice as many as in the papers' tax table
WIDTHS = {US: (162, 162, 1_500), "refute, 15 columns": (15, 9, 8_000)}


def _wide() -> Sequence[Contestant]:
    options = Options(cross_columns=False, threads=1)

    def contestant(name: str) -> Contestant:
        pairs = _wide_pairs(name, options)
        return Contestant(name, call=lambda: len(pairs.everything(Budget(options))[0]))

    return [contestant(name) for name in WIDTHS]


def _wide_pairs(name: str, options: Options) -> LocalPairs:
    columns, different, rows = WIDTHS[name]
    values = np.random.default_rng(0).integers(0, 3, (different, rows))
    relation = Relation.of(pa.table({f"c{k}": values[k % different] for k in range(columns)}))
    return LocalPairs(relation, space_for(LocalTable(relation), options)[0], options)


def _per_word(found: Mapping[str, Measurement]) -> bool:
    prices = []
    for name, (_, _, rows) in WIDTHS.items():
        words = _wide_pairs(name, Options(cross_columns=False)).book.facts.s_bits.shape[0]
        prices.append(found[name].cpu_seconds / (words * rows * (rows - 1)))
    return bool(prices[0] <= 20 * prices[1])


def _implied(name: str) -> Callable[[], Sequence[Contestant]]:
    def contestants() -> Sequence[Contestant]:
        if name == "adult" and (absent := _absent("adult_32k.csv")):
            return absent
        table = papers_table("adult_32k.csv", 24_000) if name == "adult" else read(tax(100_000)).drop_columns(["id"])

        def keeping() -> int:
            with mock.patch.object(search_module, "minimal", lambda space, boxes, *_: boxes):
                return len(discover(table))

        return [Contestant(US, call=lambda: len(discover(table))), Contestant(KEPT, call=keeping)]

    return contestants


SIZES = {US: 1_000_000, "refute, 100,000 rows": 100_000, "refute, 10,000 rows": 10_000}


def _ten_million() -> Sequence[Contestant]:
    from refute.spark import session

    session("local[2]")
    path = str(tax(10 * MILLION))
    how: dict[str, Any] = {"cross_columns": False, "columns": COLUMNS, "engine": "spark"}
    return [Contestant(US, call=lambda: len(refute.discover(path, **how)))]


def _under(most: float) -> Claim:
    return Claim(f"under {most:g} s", lambda found: found[US].seconds < most)


def _per_pair(file: str, rows: int | None, most: float) -> Claim:
    def holds(found: Mapping[str, Measurement]) -> bool:
        n = papers_table(file, rows).num_rows
        return bool(found[US].cpu_seconds * 1e9 <= most * n * (n - 1) / 2)

    return Claim(f"at most {most:g} ns of CPU per unordered pair", holds)


def _grows() -> Claim:
    def holds(found: Mapping[str, Measurement]) -> bool:
        seconds = [found[name].seconds for name in SIZES]
        return all(larger <= GROWTH * smaller for larger, smaller in pairwise(seconds))

    return Claim(f"ten times the rows take at most {GROWTH:g} times as long", holds)


def _within(gigabytes: float) -> Claim:
    def holds(found: Mapping[str, Measurement]) -> bool:
        peak = found[US].peak_bytes
        return peak is not None and peak < gigabytes * 2**30

    return Claim(f"peak memory under {gigabytes:g} GB", holds)
