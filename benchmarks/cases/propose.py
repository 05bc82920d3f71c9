"""Proposals: how many rules that are known are found on dirty tables, how many of those found are true on the clean
twin, and how long it takes."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.cases.discover import DATA
from benchmarks.cases.suspects import ABSENT, REAL
from benchmarks.dirt import Dependency, DirtyTable, dirty_folder, real
from benchmarks.measure import Measurement, Told
from benchmarks.tables import MILLION, read, tax
from refute.data import TABLE
from refute.proposing.candidates import RuleShape
from refute.proposing.result import Proposal

_TRUE = 0.01  # the error on the clean twin up to which a rule is true
_NEAR = 0.05  # g1 error of the peer's dependencies
_WIDE = (5_000, 100)  # rows and columns
_LIMITS = {  # name: file and seconds
    "hospital": ("holoclean_hospital_dirty.csv", 1.0),
    "flights": ("flights_bts_10k_clean.csv", 3.0),
    "adult": ("adult_32k.csv", 5.0),
}
Results = Mapping[str, Measurement]
Sides = tuple[frozenset[str], str]


def cases() -> Iterator[Case]:
    """Known rules of dirty tables, then time on tables of many rows and of many columns."""
    for name, (rules, dirty, clean, _) in REAL.items():
        claims = [
            Claim("half of the known rules are in the top 20", lambda found: found[US].facts["recall at 20"] >= 0.5),
            Claim("60 % of the top 20 rules are true", lambda found: found[US].facts["true"] >= 0.6),
            Claim("70 % of the rows blamed are dirty", lambda found: found[US].facts["precision"] >= 0.7),
        ]
        title = f"known rules of {name}, dirty"
        quality = partial(_quality, name, rules, dirty, clean)
        yield Case(f"propose.{name}", title, quality, claims, same_answer=False, once=True)
    yield Case("propose.all", "known rules of all dirty tables together", _all_tables, _MEANS, once=True)
    yield _timed("sample", lambda: pa.csv.read_csv(TABLE), 1.0)
    for name, (file, limit) in _LIMITS.items():
        yield _timed(name, partial(_typed, file), limit)
    yield _timed("tax1m", lambda: read(tax(MILLION, dirty=0.01)), 60.0, lean=True)
    yield _timed("wide", _wide, 60.0, lean=True)
    yield Case("propose.spark", "proposals for 1M rows that stay on Spark, and in process", _on_spark, once=True)


def _all_tables() -> Sequence[Contestant]:
    tables = {name: _dirty(name, rules, dirty, clean) for name, (rules, dirty, clean, _) in REAL.items()}
    if any(one is None for one in tables.values()):
        return [Contestant(US, absent=ABSENT)]

    def run() -> Told:
        found = [_told(*one).facts for one in tables.values() if one is not None]
        names = ("recall at 20", "true", "precision")
        facts = {f"mean {name}": round(float(np.mean([one[name] for one in found])), 3) for name in names}
        return Told(None, facts | {f"least {name}": min(one[name] for one in found) for name in names})

    return [Contestant(US, call=run)]


_MEANS = [
    Claim(
        "85 % of known rules are in the top 20, on average", lambda found: found[US].facts["mean recall at 20"] >= 0.85
    ),
    Claim("85 % of the top 20 rules are true, on average", lambda found: found[US].facts["mean true"] >= 0.85),
]


def _on_spark() -> Sequence[Contestant]:
    from refute.spark.session import session

    path = tax(MILLION, dirty=0.01)
    frame = session("local[2]", settings={"spark.driver.memory": "2g"}).read.parquet(str(path)).repartition(4)

    def told(found: Any) -> Any:
        return found.to_arrow().to_pylist()

    return [
        Contestant(US, call=lambda: told(rf.propose(frame, driver_bytes=0))),
        Contestant("refute in process", call=lambda: told(rf.propose(read(path)))),
    ]


def _timed(name: str, table: Callable[[], pa.Table | None], limit: float, *, lean: bool = False) -> Case:
    def contestants() -> Sequence[Contestant]:
        rows = table()
        if rows is None:
            return [Contestant(US, absent=f"its table is not in {DATA}")]

        def run() -> Told:
            found = rf.propose(rows.slice(0))
            return Told(None, {"rules": len(found), "megabytes": round(rows.nbytes / 1e6, 1)})

        return [Contestant(US, call=run)]

    claims = [Claim(f"it takes less than {limit:g} s", lambda found: found[US].seconds < limit)]
    if lean:
        claims.append(Claim("it takes less than 4 times the memory of the table", _is_lean))
    return Case(f"propose.time.{name}", f"proposals for {name}, encoding included", contestants, claims)


def _is_lean(found: Results) -> bool:
    peak = found[US].peak_bytes
    return peak is None or peak < 4e6 * found[US].facts["megabytes"]


def _typed(file: str, folder: Path | None = DATA) -> pa.Table | None:
    """A table as readers infer it, empty cells as nulls."""
    if folder is None or not (folder / file).exists():
        return None
    options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    return pyarrow.csv.read_csv(folder / file, convert_options=options)


def _wide() -> pa.Table:
    """Many columns: a third of them fixed by another but for 3 % of the rows, the others independent."""
    rows, columns = _WIDE
    random = np.random.default_rng(5)
    made: dict[str, np.ndarray] = {}
    for at in range(columns):
        values = random.integers(0, int(random.choice([5, 50, 500, rows])), rows)
        if at % 3 == 2:
            values = made[f"c{at - 1}"] * 7919 % 101
            wrong = random.random(rows) < 0.03
            values[wrong] = random.integers(0, 101, int(wrong.sum()))
        made[f"c{at}"] = values
    return pa.table(made)


def _dirty(name: str, rules: str, dirty: str, clean: str) -> tuple[DirtyTable, pa.Table] | None:
    """A dirty table with its clean twin, and the same as readers infer its types; None where it is absent."""
    table, typed = real(name, rules, dirty, clean), _typed(dirty, dirty_folder())
    if table is None or typed is None:
        return None
    return table, typed.rename_columns([column.replace("-", "_") for column in typed.column_names])


def _quality(name: str, rules: str, dirty: str, clean: str) -> Sequence[Contestant]:
    both = _dirty(name, rules, dirty, clean)
    if both is None:
        return [Contestant(US, absent=ABSENT)]
    table, typed = both
    peer = Contestant("desbordante Pyro", absent="not installed")
    if importlib.util.find_spec("desbordante") is not None:
        peer = Contestant("desbordante Pyro", call=lambda: _told_of_sides(table, _by_pyro(table.dirty)))
    return [
        Contestant(US, call=lambda: _told(table, typed)),
        Contestant("refute discover", call=lambda: _told_of_sides(table, _by_discovery(table.dirty))),
        peer,
    ]


def _told(table: DirtyTable, typed: pa.Table) -> Told:
    found = rf.propose(typed)
    heads = [*found.rules, *found.tendencies]
    facts: dict[str, Any] = {"known": len(table.rules), "rules": len(found.rules), "tendencies": len(found.tendencies)}
    for most in (10, 20):
        sides = {side for head in heads[:most] for one in (head, *head.members) for side in _sides_of(one)}
        facts[f"recall at {most}"] = _recall(table, sides)
    judged = [_is_true(table, head) for head in found.rules[:20]]
    facts["true"] = round(float(np.mean([one for one in judged if one is not None])), 3)
    facts["precision"] = _precision(table, [one for one in found.rules[:20] if _sides_of(one)])
    return Told(None, facts)


def _told_of_sides(table: DirtyTable, ranked: list[Sides]) -> Told:
    facts: dict[str, Any] = {f"recall at {most}": _recall(table, set(ranked[:most])) for most in (10, 20)}
    judged = [_error(table.clean, left, right) <= _TRUE for left, right in ranked[:20]]
    return Told(None, {**facts, "rules": len(ranked), "true": round(sum(judged) / max(len(judged), 1), 3)})


def _sides_of(rule: Proposal) -> list[Sides]:
    candidate = rule.candidate
    if candidate.shape is not RuleShape.DEPENDENCY:
        return []
    return [(frozenset(candidate.left), candidate.right[0])]


def _recall(table: DirtyTable, sides: set[Sides]) -> float:
    """The share of known rules that are there, or with fewer columns on the left."""
    found = [
        any(left <= frozenset(known.left) and right == known.right for left, right in sides) for known in table.rules
    ]
    return round(float(np.mean(found)), 3)


def _is_true(table: DirtyTable, rule: Proposal) -> bool | None:
    """Whether a rule holds on the clean twin; None for one that reads columns otherwise than these tables have them."""
    sides = _sides_of(rule)
    if sides:
        return _error(table.clean, *sides[0]) <= _TRUE
    if rule.candidate.shape is RuleShape.KEY:
        return bool(rf.suspects(table.clean, rule.rules).count <= _TRUE * table.clean.num_rows)
    return None


def _error(clean: pa.Table, left: frozenset[str], right: str) -> float:
    found = rf.suspects(clean, Dependency(tuple(sorted(left)), right).text)
    return found.count / int(clean.num_rows)


def _precision(table: DirtyTable, rules: Sequence[Proposal]) -> float:
    """Of the rows that the best dependencies blame together, the share that is wrong in a column that they read."""
    wrong = np.zeros(table.dirty.num_rows, np.bool_)
    for name in {name for rule in rules for name in rule.candidate.columns}:
        cells, truth = (one.column(name).to_pylist() for one in (table.dirty, table.clean))
        wrong |= np.array([cell != true for cell, true in zip(cells, truth, strict=True)])
    rows = rf.suspects(table.dirty, [rule.text for rule in rules]).rows
    return round(float(wrong[rows].mean()) if rows else 1.0, 3)


def _by_discovery(dirty: pa.Table) -> list[Sides]:
    """The dependencies that today's search for almost-rules ranks first."""
    found = rf.discover(dirty, almost=20, cross_columns=False, max_predicates=3, time_limit=60)
    ranked = [*found.almost, *found.rules]
    sides = []
    for rule in ranked:
        if rule.sort.value == "functional dependency":
            *left, right = rule.constraint.predicates
            sides.append((frozenset(one.left.name for one in left), right.left.name))
    return sides


def _by_pyro(dirty: pa.Table) -> list[Sides]:
    """The approximate dependencies of Desbordante, with the fewest columns on the left first."""
    import desbordante

    algorithm = desbordante.afd.algorithms.Pyro()
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        pa.csv.write_csv(dirty, file.name)
        algorithm.load_data(table=(file.name, ",", True))
    algorithm.execute(error=_NEAR, max_lhs=2)
    names = dirty.column_names
    found = [(frozenset(names[at] for at in one.lhs_indices), names[one.rhs_index]) for one in algorithm.get_fds()]
    return sorted(found, key=lambda one: (len(one[0]), sorted(one[0]), one[1]))
