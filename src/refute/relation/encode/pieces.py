"""Columns cut into runs of rows, which are encoded side by side into one array per column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.relation.arrays import combined
from refute.runtime.arrays import empty
from refute.runtime.threads import together

Ints = NDArray[np.signedinteger]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cutting:
    """When columns are cut: no code depends on it."""

    worth: int = 1 << 17  # rows below which a second thread does not pay
    small_chunk: int = 1 << 14  # rows; chunks smaller than this on average are put together first


CUTTING = Cutting()


@dataclass(frozen=True, slots=True)
class Pieces:
    """The arrays of some columns, piece by piece and column after column."""

    arrays: tuple[Any, ...]  # of Arrow, or whatever else has a length
    counts: tuple[int, ...]  # the pieces of each column
    threads: int

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray], threads: int = 1, cutting: Cutting = CUTTING) -> Pieces:
        """The chunks of the columns as they are, cut where a thread would otherwise have nothing to do."""
        cut = [_cut(column, threads, cutting) for column in columns]
        rows = sum(len(column) for column in columns)
        return cls(
            tuple(array for arrays in cut for array in arrays),
            tuple(map(len, cut)),
            threads if rows >= cutting.worth else 1,
        )

    @classmethod
    def apart(cls, arrays: Sequence[Any]) -> Pieces:
        """Each array as a column of its own."""
        return cls(tuple(arrays), (1,) * len(arrays), 1)

    def each(self, work: Callable[..., T], *parts: Sequence[Any]) -> list[T]:
        """What `work` gives for every piece's entries of the sequences, in order."""
        groups = zip(*parts, strict=True)
        return together(self.threads, [partial(work, *group) for group in groups])

    def room(self, dtype: type[np.int32] | type[np.int64]) -> tuple[list[Ints], list[Ints]]:
        """A new array for each column, and for each piece its own part of that array."""
        columns: list[Ints] = []
        parts: list[Ints] = []
        for lengths in self._lengths():
            column: Ints = empty(sum(lengths), dtype)
            columns.append(column)
            parts.extend(column[start:end] for start, end in pairwise(accumulate(lengths, initial=0)))
        return columns, parts

    def joined(self, parts: Sequence[Ints]) -> list[Ints]:
        """One array for each column from arrays of its pieces."""
        found = []
        for start, end in pairwise(accumulate(self.counts, initial=0)):
            own = parts[start:end]
            found.append(own[0] if len(own) == 1 else np.concatenate(own))
        return found

    def split(self, codes: Ints) -> list[Ints]:
        """The part of each column of an array over the rows of all columns."""
        ends = np.cumsum([sum(lengths) for lengths in self._lengths()])
        return list(np.split(codes, ends[:-1]))

    def shares(self) -> list[slice]:
        """The pieces of each thread, about equal in rows, in order."""
        rows = np.cumsum([len(array) for array in self.arrays])
        wanted = rows[-1] * np.arange(1, self.threads) / self.threads
        cuts = sorted({0, len(rows), *(np.searchsorted(rows, wanted) + 1).tolist()})
        return [slice(start, end) for start, end in pairwise(cuts)]

    def _lengths(self) -> list[list[int]]:
        return [
            [len(array) for array in self.arrays[start:end]]
            for start, end in pairwise(accumulate(self.counts, initial=0))
        ]


def _cut(column: pa.ChunkedArray, threads: int, cutting: Cutting) -> list[pa.Array]:
    """The pieces of a column, one at least."""
    rows = len(column)
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if len(chunks) == 0 or len(chunks) * cutting.small_chunk > rows:
        chunks = [combined(column)]
    if threads < 2 or rows < cutting.worth:
        return chunks
    most = -(-rows // threads)
    return [chunk.slice(start, most) for chunk in chunks for start in range(0, len(chunk), most)]
