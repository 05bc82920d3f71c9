"""An index for two order comparisons: rows in as few chains as can be, in each of which both columns are sorted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refute.discovery.evidence.tiles import Rectangles
from refute.kernels.tracking.chains import fetch_ranges, fewest_chains, place_rows, plain_runs
from refute.language.nulls import Nulls
from refute.tracking.codes import NULL, Ints, Longs
from refute.tracking.rows import TrackedRows

Strict = tuple[bool, bool]
_ROOM = 1 << 10


class Chains(NamedTuple):
    """Rows, chain after chain, with the codes of both columns; those of the second turned round where it falls."""

    rows: Ints  # (n,)
    a: Ints  # (n,)
    b: Ints  # (n,)
    starts: Longs  # (chains + 1,)


class OrderIndex:
    """Index(A, B) of Section 5.2, for comparisons of rows by two columns, which may be one and the same.

    Every row that has both values is in one chain. Along a chain A rises, and B rises, or falls if `falling`. An index
    made for `<=` serves `<` as well (Section 6.2) and never has more chains, so that is the default; `strict` says of
    each column whether different rows of a chain must differ there. One kernel gives all members whose signs are
    wanted, in either direction, so the index serves every combination of orders.
    """

    def __init__(
        self,
        rows: TrackedRows,
        columns: tuple[int, int],
        *,
        falling: bool = False,
        strict: Strict = (False, False),
        optimal: bool = True,
    ) -> None:
        self._rows = rows
        self.columns = columns
        self.falling = falling
        self._strict = strict
        self._optimal = optimal
        self.load()

    def load(self) -> None:
        """Begins anew with the rows that are there."""
        self._chains = self._built(self._rows.living)

    @property
    def rank(self) -> int:
        """How many chains there are."""
        return len(self._chains.starts) - 1

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return sum(part.nbytes for part in self._chains)

    @property
    def members(self) -> Ints:
        """All rows, chain after chain."""
        return self._chains.rows

    @property
    def chains(self) -> list[list[int]]:
        """The rows of each chain."""
        return [part.tolist() for part in np.split(self._chains.rows, self._chains.starts[1:-1])]

    def fetch(self, batch: Longs, asking: tuple[int, int], wanted: int) -> Rectangles:
        """Ranges (R, 4) of places in the batch and of members whose columns compare as wanted with those asked by.

        `asking` are the columns of the rows of the batch; `wanted` holds bit 3 x + y for members whose values are x and
        y, 0 for less, 1 for equal, 2 for greater (Fetch, and with other columns than those of the index Fetch+).
        """
        return self._fetched(self._chains, batch, asking, wanted)

    def among(self, batch: Longs, asking: tuple[int, int], wanted: int) -> tuple[Longs, Rectangles]:
        """Rows of the batch in chains of their own, and ranges as `fetch` gives them; a row may be in its own range."""
        own = self._built(batch)
        return own.rows.astype(np.int64), self._fetched(own, batch, asking, wanted)

    def add(self, rows: Longs) -> None:
        """Takes rows in: into the longest chain that a row fits, or into a new one (Section 6.3)."""
        new, values = self._sorted(rows)
        if not len(new):
            return
        old = self._chains
        tails = np.full(self.rank + len(new), -1, np.int64)
        placed = np.empty((len(new), 2), np.int64)
        made = int(place_rows(old.a, old.b, old.starts, values, np.array(self._strict), tails, placed))
        placed[placed[:, 0] >= self.rank, 1] = len(old.rows)
        order = np.argsort(placed[:, 0], kind="stable")
        at = placed[order, 1]
        sizes = np.bincount(placed[:, 0], minlength=made)
        sizes[: self.rank] += np.diff(old.starts)
        self._chains = Chains(
            np.insert(old.rows, at, new[order]),
            np.insert(old.a, at, values[order, 0]),
            np.insert(old.b, at, values[order, 1]),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        )

    def drop(self, rows: Longs) -> None:
        """Lets rows go."""
        gone = np.zeros(self._rows.n, np.bool_)
        gone[rows] = True
        held = self._chains
        stays = ~gone[held.rows]
        chain = np.repeat(np.arange(self.rank), np.diff(held.starts))[stays]
        self._chains = Chains(held.rows[stays], held.a[stays], held.b[stays], _starts(chain, self.rank))

    def recode(self) -> None:
        """Reads the codes of all rows again, which have moved, but in the same order."""
        rows = self._chains.rows.astype(np.int64)
        values = self._values(rows)
        self._chains = self._chains._replace(a=values[:, 0].copy(), b=values[:, 1].copy())

    def _fetched(self, chains: Chains, batch: Longs, asking: tuple[int, int], wanted: int) -> Rectangles:
        codes = self._rows.codes_of(batch, asking)
        places = np.arange(len(batch))
        if self._rows.nulls is Nulls.SQL:
            places = np.flatnonzero((codes != NULL).all(axis=1))
            codes = codes[places]
        if self.falling:
            codes[:, 1] = ~codes[:, 1]
            wanted = turned(wanted)
        room = _ROOM + 2 * len(codes)
        while True:
            out = np.empty((room, 4), np.int64)
            found = int(fetch_ranges(chains.a, chains.b, chains.starts, codes, wanted, out))
            if found <= room:
                break
            room = found
        ranges = out[:found]
        ranges[:, 0] = places[ranges[:, 0]]
        ranges[:, 1] = ranges[:, 0] + 1
        return ranges

    def _built(self, rows: Longs) -> Chains:
        """The chains of some rows alone."""
        ordered, values = self._sorted(rows)
        a, b = (np.ascontiguousarray(values[:, side]) for side in (0, 1))
        chain, tails = np.empty(len(ordered), np.int64), np.empty(len(ordered), np.int64)
        if self._optimal:
            rank = int(fewest_chains(a, b, *self._strict, tails, chain))
        else:
            rank = int(plain_runs(a, b, *self._strict, chain))
        order = np.argsort(chain, kind="stable")
        return Chains(ordered[order].astype(np.int32), a[order], b[order], _starts(chain, rank))

    def _sorted(self, rows: Longs) -> tuple[Longs, Ints]:
        """Rows that have both values, in the order in which chains are built, and their values (n, 2)."""
        values = self._values(rows)
        if self._rows.nulls is Nulls.SQL:
            present = (self._rows.codes_of(rows, self.columns) != NULL).all(axis=1)
            rows, values = rows[present], values[present]
        second = ~values[:, 1] if self._strict[0] else values[:, 1]
        order = np.lexsort((second, values[:, 0]))
        return rows[order], np.ascontiguousarray(values[order])

    def _values(self, rows: Longs) -> Ints:
        values = self._rows.codes_of(rows, self.columns)
        if self.falling:
            values[:, 1] = ~values[:, 1]
        return values


def turned(wanted: int) -> int:
    """What is wanted where the second value has the other sign."""
    return sum(1 << (3 * x + 2 - y) for x in range(3) for y in range(3) if wanted >> (3 * x + y) & 1)


def negated(wanted: int) -> int:
    """What is wanted where both values have the other sign."""
    return sum(1 << (8 - bit) for bit in range(9) if wanted >> bit & 1)


def exchanged(wanted: int) -> int:
    """What is wanted where the second value comes first."""
    return sum(1 << (3 * y + x) for x in range(3) for y in range(3) if wanted >> (3 * x + y) & 1)


def _starts(chain: Longs, rank: int) -> Longs:
    """Where chains of so many rows each begin, without those that are empty."""
    sizes = np.bincount(chain, minlength=rank)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[sizes > 0])])
