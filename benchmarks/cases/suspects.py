"""Suspects: how well the rows and cells at fault are found, on real dirty tables and on errors put into clean ones,
beside three ways that one would think of first; and how long a million rows take."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import zip_longest

import numpy as np
import pyarrow as pa

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.dirt import FOLDER, KINDS, METHODS, DirtyTable, clean_tables, real, scores, with_errors
from benchmarks.measure import Measurement, Told
from benchmarks.rules import RULES
from benchmarks.tables import MILLION, read, tax
from refute.detect.local import LocalEngine
from refute.language.rulebook import RuleBook
from refute.plan.compile import compile_rule

REAL = {  # files of rules, dirty and clean tables, and the F1 of findable rows that is claimed
    "hospital": ("hospital_holoclean.txt", "holoclean_hospital_dirty.csv", "holoclean_hospital_clean.csv", 0.95),
    "flights": ("uniclean_flights.txt", "raha_flights_dirty.csv", "raha_flights_clean.csv", 0.88),
    "beers": ("uniclean_beers.txt", "raha_beers_dirty.csv", "raha_beers_clean.csv", 0.90),
    "tax": ("uniclean_tax.txt", "tax_50k_dirty.csv", "tax_50k_clean.csv", 0.93),
}
ABSENT = f"no folder of dirty tables is named by {FOLDER}"
_SHARES = (0.01, 0.05)
_SEEDS = 3
_RIGHT = {"typo": 0.95, "swap": 0.85}
_RULES = (
    "unique(areacode, phone)",
    "zip -> city",
    "zip -> state",
    "areacode -> state",
    "state, salary -> rate",
    "state, maritalstatus -> singleexemp",
    "state, maritalstatus -> marriedexemp",
    "fname -> gender",
    "state, haschild -> childexemp",
    "not (s.state = t.state and s.salary > t.salary and s.rate < t.rate)",
)
Results = Mapping[str, Measurement]


def cases() -> Iterator[Case]:
    """Real tables, errors of three kinds, an order with errors, and a million rows."""
    for name, (*files, least) in REAL.items():
        claims = [
            Claim(f"F1 of findable rows is at least {least}", partial(_at_least, "F1", least)),
            Claim("and no lower than the best baseline", partial(_best, "F1", 0.0)),
            Claim("93 % of the suggested values are right", partial(_at_least, "values right", 0.93)),
        ]
        title = f"the wrong rows and cells of {name}"
        yield Case(f"suspects.{name}", title, partial(_real, name, *files), claims, same_answer=False, once=True)
    claims = [
        Claim(f"{kind}: at most 0.02 below the best baseline", partial(_best, f"{kind} F1", 0.02)) for kind in KINDS
    ]
    claims += [
        Claim(f"{kind}: {least:.0%} of the values are right", partial(_at_least, f"{kind} values right", least))
        for kind, least in _RIGHT.items()
    ]
    claims.append(Claim("above all baselines in the mean", partial(_best, "mean F1", 0.0)))
    title = "errors put into three clean tables, with new seeds each time"
    yield Case("suspects.injected", title, _injected, claims, same_answer=False, once=True)
    claims = [Claim("F1 of errors that clash with a clean row is at least 0.98", partial(_at_least, "F1", 0.98))]
    yield Case("suspects.order", "wrong rates and salaries under a rule about order", _order, claims, once=True)
    claims = [Claim("rows, bound and cells take under 10 s of CPU", lambda found: found[US].cpu_seconds < 10)]
    yield Case("suspects.million", "ten rules, columns encoded before", _million, claims)
    claims = [
        Claim("at most 5 times as long as check", lambda found: found[US].seconds <= 5 * found["check"].seconds),
        Claim("and 5 times its CPU", lambda found: found[US].cpu_seconds <= 5 * found["check"].cpu_seconds),
    ]
    title = "c1 to c4 over ten million rows on Spark"
    yield Case("suspects.spark", title, partial(_spark, 10 * MILLION), claims, same_answer=False, once=True)
    claims = [*claims, Claim("the lines of a table in memory", lambda found: found[US].facts["other lines"] == 0)]
    title = "c1 to c4 over a million rows of which nothing may come here"
    yield Case(
        "suspects.spark.there", title, partial(_spark, MILLION, driver_bytes=0), claims, same_answer=False, once=True
    )


def _at_least(fact: str, least: float, found: Results) -> bool:
    return found[US].facts[fact] >= least


def _best(fact: str, slack: float, found: Results) -> bool:
    return found[US].facts[fact] >= max(one.facts[fact] for one in found.values()) - slack


def _contestants(tell: Callable[[str], Told]) -> Sequence[Contestant]:
    return [Contestant(name, call=partial(tell, name)) for name in METHODS]


def _absent() -> Sequence[Contestant]:
    return [Contestant(US, absent=ABSENT)]


def _real(name: str, rules: str, dirty: str, clean: str) -> Sequence[Contestant]:
    table = real(name, rules, dirty, clean)
    if table is None:
        return _absent()
    return _contestants(lambda method: Told(None, scores(table, METHODS[method](table))))


def _injected() -> Sequence[Contestant]:
    seeds = [secrets.randbelow(2**31) for _ in range(_SEEDS)]
    tables = list(clean_tables())
    if not tables:
        return _absent()

    @cache
    def dirty(at: int, kind: str, share: float, seed: int) -> DirtyTable:
        return with_errors(tables[at][1], tables[at][2], kind, share, seed)

    def tell(method: str) -> Told:
        facts: dict[str, float] = {"seed": float(seeds[0])}
        for kind in KINDS:
            found = []
            for at in range(len(tables)):
                for share in _SHARES:
                    for seed in seeds:
                        table = dirty(at, kind, share, seed)
                        found.append(scores(table, METHODS[method](table)))
            facts[f"{kind} F1"] = round(float(np.mean([one["F1"] for one in found])), 4)
            given = sum(one.get("values", 0) for one in found)
            if given:
                right = sum(one.get("values", 0) * one.get("values right", 0) for one in found)
                facts |= {f"{kind} values": given, f"{kind} values right": round(right / given, 4)}
        facts["mean F1"] = round(float(np.mean([facts[f"{kind} F1"] for kind in KINDS])), 4)
        return Told(None, facts)

    return _contestants(tell)


def _order() -> Sequence[Contestant]:
    """Rates and salaries that are random, or ten times too much, in one row of a hundred."""
    clean = read(tax(MILLION // 20)).select(["state", "salary", "rate"])
    rule = "not (s.state = t.state and s.salary > t.salary and s.rate < t.rate)"
    seed = secrets.randbelow(2**31)

    def tell() -> Told:
        found = [_order_score(clean, rule, name, times, seed) for name in ("rate", "salary") for times in (True, False)]
        return Told(None, {"F1": round(min(found), 4), "seed": float(seed)})

    return [Contestant(US, call=tell)]


def _order_score(clean: pa.Table, rule: str, name: str, times: bool, seed: int) -> float:
    random = np.random.default_rng(seed)
    values = clean.column(name).to_numpy().copy()
    rows = random.choice(len(values), len(values) // 100, replace=False)
    values[rows] = values[rows] * 10 if times else values[random.choice(len(values), len(rows))]
    dirty = clean.set_column(clean.column_names.index(name), name, pa.array(values, clean.schema.field(name).type))
    wrong = values != clean.column(name).to_numpy()
    state, salary, rate = (np.array(dirty.column(one).to_pylist()) for one in ("state", "salary", "rate"))
    clashing = set()  # an error counts if it clashes with a clean row
    for row in np.flatnonzero(wrong).tolist():
        mine = np.flatnonzero(~wrong & (state == state[row]))
        more, less = salary[mine] > salary[row], salary[mine] < salary[row]
        if bool((more & (rate[mine] < rate[row]) | less & (rate[mine] > rate[row])).any()):
            clashing.add(row)
    found = {line.row for line in rf.suspects(dirty, rule)}
    return 2 * len(found & clashing) / max(len(found) + len(clashing), 1)


def _spark(rows: int, driver_bytes: int | None = None) -> Sequence[Contestant]:
    from refute.spark.session import session

    texts = [RULES[name].text for name in ("c1", "c2", "c3", "c4")]
    path = tax(rows, dirty=0.001)
    frame = session().read.parquet(str(path))
    here = None if driver_bytes is None else list(rf.suspects(read(path), texts))

    def blame() -> Told:
        found = rf.suspects(frame, texts, driver_bytes=driver_bytes)
        facts: dict[str, float] = {"suspects": found.count, "bound": found.lower_bound, "lines": len(found)}
        if here is not None:
            facts["other lines"] = sum(ours != theirs for ours, theirs in zip_longest(found, here))
        return Told(None, facts)

    def check() -> bool:
        return rf.check(frame, texts, driver_bytes=driver_bytes).ok

    return [Contestant(US, call=blame), Contestant("check", call=check)]


def _million() -> Sequence[Contestant]:
    table = read(tax(MILLION, dirty=0.001))
    rules = list(RuleBook.of(list(_RULES)))

    def tell() -> Told:
        found = engine.suspects(rules)
        lines = found.table().num_rows
        return Told(None, {"suspects": found.n_suspects, "bound": found.bound, "lines": lines})

    engine = LocalEngine(table)
    for rule in rules:
        compile_rule(engine.relation, rule, threads=2)
    return [Contestant(US, call=tell)]
