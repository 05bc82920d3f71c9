"""A Tax-like table of any size, with known rules: deterministic, and a prefix of every longer one with the same seed.

On clean tables these hold, at any size: (areacode, phone) is a key; zip -> city, zip -> state, areacode -> state,
fname -> gender; (state, haschild) -> childexemp; (state, maritalstatus) -> singleexemp and marriedexemp;
(state, salary) -> rate; and within a state a higher salary never has a lower rate. Names, cities, zip and area codes
are made up. A dirty table has one wrong cell in a fraction of its rows; not each of them breaks a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Codes = NDArray[Any]

_COLUMNS = (
    "fname lname gender areacode phone city state zip maritalstatus haschild "
    "salary rate singleexemp marriedexemp childexemp"
)
_STATES = (
    "AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR "
    "PA RI SC SD TN TX UT VA VT WA WI WV WY"
)
_ONSETS = "b br c ch d dr f g gr h j k kr l m n p pr r s sh st t th tr v w z"
_VOWELS = "a e i o u ai ea ie ou"
COLUMNS, STATES, ONSETS, VOWELS = (tuple(words.split()) for words in (_COLUMNS, _STATES, _ONSETS, _VOWELS))
NO_TAX = frozenset(("AK", "FL", "NV", "NH", "SD", "TN", "TX", "WA", "WY"))
CHUNK = 250_000  # rows that share a random stream
PHONES = 9_000_000  # 100-0000 .. 999-9999
DIRTY = ("city", "state", "phone", "childexemp", "singleexemp", "rate")

_ENDS = ("", "n", "r", "l", "s", "m", "t", "ck", "nd", "x")


class Domains:
    """The value lists and the functions between them; they depend on the seed, never on the number of rows."""

    def __init__(
        self,
        seed: int = 0,
        *,
        zips: int = 25_000,
        cities: int = 13_000,
        names: int = 10_000,
        areacodes: int = 273,
        salary_step: int = 5_000,
        salary_max: int = 100_000,
    ) -> None:
        rng = np.random.default_rng([seed, 1])
        states = len(STATES)
        self.fname = _words(rng, names, (2, 3))
        self.fname_gender = rng.integers(0, 2, names).astype(np.uint8)
        self.lname = _words(rng, names, (2, 4))
        city = [word.upper() for word in _words(rng, cities, (2, 3))]
        for i in range(0, cities, 7):
            city[i] = f"{('NEW', 'PORT', 'FORT', 'SAINT', 'LAKE')[i // 7 % 5]} {city[i]}"
        self.cities = cities
        self.city = city + [_typo(word) for word in city]  # the second half is for dirty rows
        placed = np.sort(np.concatenate([np.arange(states), rng.integers(0, states, zips - states)]))
        self.zip = np.sort(rng.choice(np.arange(1001, 99951), zips, replace=False))
        self.zip_state = rng.permutation(states)[placed].astype(np.uint8)
        self.zip_city = rng.integers(0, cities, zips).astype(np.uint16)
        self.areacode = np.sort(rng.choice(np.arange(201, 990), areacodes, replace=False))
        twice = np.arange(states)  # every state has two area codes or more
        owner = rng.permutation(np.concatenate([twice, twice, rng.integers(0, states, areacodes - 2 * states)]))
        self.state_codes = np.argsort(owner, kind="stable").astype(np.uint16)
        self.state_ncodes = np.bincount(owner, minlength=states)
        self.state_first = np.concatenate([[0], np.cumsum(self.state_ncodes)[:-1]])
        self.phone_of = rng.permutation(PHONES).astype(np.uint32)
        self.phone_start = rng.integers(0, PHONES, areacodes)
        step = rng.integers(1, PHONES, 20 * areacodes)
        self.phone_step = step[np.gcd(step, PHONES) == 1][:areacodes]
        self.salary = np.arange(salary_step, salary_max + 1, salary_step)
        single = rng.integers(0, 30, states) * 250
        child = rng.integers(0, 14, states) * 250
        self.exemption = np.unique(np.concatenate([[0], single, 2 * single, child]))
        nothing = np.zeros(states, np.int64)
        self.single_of, self.married_of, self.child_of = (
            np.stack([np.searchsorted(self.exemption, one).astype(np.uint8) for one in pair], 1)
            for pair in ((nothing, single), (2 * single, nothing), (nothing, child))
        )
        rate = self._rates(rng, salary_max)  # in steps of 1e-7
        self.rate, codes = np.unique(rate, return_inverse=True)
        self.rate_of = codes.reshape(rate.shape).astype(np.uint32)

    def _rates(self, rng: np.random.Generator, salary_max: int) -> NDArray[np.int64]:
        """Effective rates under rising marginal rates, so they never fall as the salary rises."""
        rate = np.zeros((len(STATES), len(self.salary)), np.int64)
        for state, name in enumerate(STATES):
            if name in NO_TAX:
                continue
            brackets = rng.integers(1, 6)
            edges = np.concatenate([[0], np.sort(rng.integers(4, salary_max // 1_000, brackets)) * 1_000])
            marginal = np.sort(rng.uniform(0.5, 9.5, brackets + 1)).round(2)
            widths = np.append(np.diff(edges), np.inf)
            tax = (np.clip(self.salary[:, None] - edges, 0, widths) * marginal).sum(1)
            rate[state] = np.maximum.accumulate(np.round(tax / self.salary * 1e7).astype(np.int64))
        return rate

    def values(self, name: str) -> pa.Array:
        """What the codes of a column stand for."""
        match name:
            case "gender":
                return pa.array(["F", "M"])
            case "maritalstatus":
                return pa.array(["M", "S"])
            case "haschild":
                return pa.array(["N", "Y"])
            case "state":
                return pa.array(STATES)
            case "rate":
                return pa.array(self.rate / 1e7)
            case "singleexemp" | "marriedexemp" | "childexemp":
                return pa.array(self.exemption.astype(np.int64))
            case "fname" | "lname" | "city":
                return pa.array(getattr(self, name))
            case _:
                return pa.array(getattr(self, name).astype(np.int64))


def tax_table(rows: int, *, seed: int = 0, dirty: float = 0.0) -> pa.Table:
    """The table; with `dirty`, that fraction of its rows has one wrong cell."""
    return pa.concat_tables(tax_parts(rows, COLUMNS, Domains(seed), seed=seed, dirty=dirty))


def tax_parts(
    rows: int, columns: Sequence[str], domains: Domains, *, seed: int = 0, dirty: float = 0.0
) -> Iterator[pa.Table]:
    """These columns of the table, piece by piece."""
    values = {name: domains.values(name) for name in columns if name != "phone"}
    for first, codes in _chunks(rows, seed, domains):
        if dirty:
            rng = np.random.default_rng([seed, 3, first // CHUNK])
            _spoil(codes, domains, rng, dirty)
        made = [
            _phones(codes[name]) if name == "phone" else values[name].take(pa.array(codes[name])) for name in columns
        ]
        yield pa.table(made, names=list(columns))


def _chunks(rows: int, seed: int, d: Domains) -> Iterator[tuple[int, dict[str, Codes]]]:
    """First row and codes of each chunk; drawn in full and cut, so tables are prefixes of longer ones."""
    used = np.zeros(len(d.areacode), np.int64)
    for first in range(0, rows, CHUNK):
        rng = np.random.default_rng([seed, 2, first // CHUNK])
        c: dict[str, Codes] = {}
        c["fname"] = rng.integers(0, len(d.fname), CHUNK, dtype=np.uint16)
        c["lname"] = rng.integers(0, len(d.lname), CHUNK, dtype=np.uint16)
        c["gender"] = d.fname_gender[c["fname"]]
        c["zip"] = rng.integers(0, len(d.zip), CHUNK, dtype=np.uint16)
        state = c["state"] = d.zip_state[c["zip"]]
        c["city"] = d.zip_city[c["zip"]]
        pick = (rng.random(CHUNK, dtype=np.float32) * d.state_ncodes[state]).astype(np.int64)
        area = d.state_codes[d.state_first[state] + np.minimum(pick, d.state_ncodes[state] - 1)]
        c["areacode"] = area
        c["maritalstatus"] = rng.integers(0, 2, CHUNK, dtype=np.uint8)
        c["haschild"] = rng.integers(0, 2, CHUNK, dtype=np.uint8)
        c["salary"] = rng.integers(0, len(d.salary), CHUNK, dtype=np.uint16)
        c["rate"] = d.rate_of[state, c["salary"]]
        c["singleexemp"] = d.single_of[state, c["maritalstatus"]]
        c["marriedexemp"] = d.married_of[state, c["maritalstatus"]]
        c["childexemp"] = d.child_of[state, c["haschild"]]
        c["phone"] = _numbers(area, used, d)
        yield first, {name: codes[: rows - first] for name, codes in c.items()}


def _numbers(area: Codes, used: NDArray[np.int64], d: Domains) -> Codes:
    """A phone number per row. The k-th row of an area code takes place start + k * step of one fixed permutation of all
    numbers; the step has no factor in common with their count, so no number comes twice within an area code."""
    order = np.argsort(area, kind="stable")
    sizes = np.bincount(area, minlength=len(used))
    rank = np.empty(len(area), np.int64)
    rank[order] = np.arange(len(area)) - np.repeat(np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    place = rank + used[area]
    used += sizes
    assert used.max() <= PHONES, "too many rows for the area codes"
    return np.asarray(d.phone_of[(place * d.phone_step[area] + d.phone_start[area]) % PHONES])


def _spoil(codes: dict[str, Codes], d: Domains, rng: np.random.Generator, fraction: float) -> None:
    """Change one cell in a fraction of the rows."""
    rows_in_all = len(codes["state"])
    hit = np.flatnonzero(rng.random(rows_in_all) < fraction)
    kind = rng.integers(0, len(DIRTY), len(hit))
    sizes = {"state": len(STATES), "rate": len(d.rate)}
    for number, name in enumerate(DIRTY):
        rows = hit[kind == number]
        old = codes[name][rows].astype(np.int64)
        if name == "city":
            new = old + d.cities
        elif name == "phone":
            new = _number_of_another(codes, rows)
        else:
            size = sizes.get(name, len(d.exemption))
            new = (old + rng.integers(1, size, len(rows))) % size
        codes[name] = codes[name].copy()  # may be a view
        codes[name][rows] = new.astype(codes[name].dtype)


def _number_of_another(codes: dict[str, Codes], rows: Codes) -> Codes:
    """The phone number of another row with the same area code; its own where there is none."""
    area, phone = codes["areacode"], codes["phone"]
    order = np.argsort(area, kind="stable")
    where = np.empty(len(area), np.int64)
    where[order] = np.arange(len(area))
    other = order[(where[rows] + 1) % len(area)]
    other = np.where(area[other] == area[rows], other, order[where[rows] - 1])
    return np.where(area[other] == area[rows], phone[other], phone[rows]).astype(np.int64)


def _phones(numbers: Codes) -> pa.Array:
    """Numbers as text, such as 622-5100."""
    prefixes, suffixes = (np.array([f"{i:0{width}d}" for i in range(10**width)], f"S{width}") for width in (3, 4))
    head, tail = np.divmod(numbers, 10_000)
    raw = np.empty((len(numbers), 8), np.uint8)
    raw[:, :3] = prefixes[head + 100].view(np.uint8).reshape(-1, 3)
    raw[:, 3] = ord("-")
    raw[:, 4:] = suffixes[tail].view(np.uint8).reshape(-1, 4)
    offsets = (np.arange(len(numbers) + 1, dtype=np.int32) * 8).tobytes()
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(raw.tobytes()))


def _words(rng: np.random.Generator, count: int, syllables: tuple[int, int]) -> list[str]:
    """Distinct pronounceable words."""
    found: dict[str, None] = {}
    while len(found) < count:
        length = rng.integers(syllables[0], syllables[1] + 1)
        word = "".join(ONSETS[rng.integers(len(ONSETS))] + VOWELS[rng.integers(len(VOWELS))] for _ in range(length))
        found[(word + _ENDS[rng.integers(len(_ENDS))]).capitalize()] = None
    return list(found)


def _typo(word: str) -> str:
    middle = len(word) // 2
    return f"{word[:middle]}{'X' if word[middle] != 'X' else 'Q'}{word[middle + 1 :]}"
