"""Pandas and polars frames as sources of Arrow columns, each column converted on its own and exactly."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.errors import SchemaError
from refute.relation.shown import shown
from refute.relation.sources.objects import column_of_objects
from refute.relation.types import READABLE
from refute.runtime.once import Once


class FrameSource(ABC):
    """Rows of a frame. A column of Python objects is converted whole, whichever rows of it are asked for: all of its
    objects together decide its type, so no answer depends on where rows stand."""

    def __init__(self, frame: Any, names: Sequence[str], n_rows: int) -> None:
        self.frame = frame
        self.names = tuple(names)
        self.n_rows = n_rows
        self._whole: FrameSource = self
        self._start = 0
        self._once = Once()

    def column(self, position: int) -> pa.ChunkedArray:
        """One column, converted; raises SchemaError where no Arrow type holds its values exactly."""
        if not self._has_objects(position):
            return self._converted(position)
        whole = self._whole
        found = whole._once.get(position, lambda: whole._converted(position))
        return found.slice(self._start, self.n_rows)

    def row(self, place: int) -> list[Any]:
        """The cells of one row as Python has them; as text where no Arrow type holds them."""
        found = self.slice(place, 1)
        return [found._cell(position) for position in range(len(self.names))]

    def _cell(self, position: int) -> Any:
        try:
            return shown(self._converted(position)[0])
        except SchemaError:
            return str(self._objects(position)[0])

    def slice(self, start: int, n: int) -> Self:
        """At most n rows from `start` on, without a copy."""
        found = type(self)(self._rows(start, n))  # type: ignore[call-arg]
        found._whole, found._start = self._whole, self._start + start
        return found

    def filter(self, mask: NDArray[np.bool_]) -> Self:
        """The rows for which the mask is true, as a table of their own."""
        return type(self)(self._chosen(mask))  # type: ignore[call-arg]

    def _converted(self, position: int) -> pa.ChunkedArray:
        name = self.names[position]
        try:
            if self._has_objects(position):
                found = column_of_objects(self._objects(position), name)
            else:
                found = self._typed(position)
        except UnicodeEncodeError as error:
            raise SchemaError(
                f"Column {name!r} holds text that is not Unicode: {error.object!r}.", column=name
            ) from error
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise SchemaError(
                f"Column {name!r} ({self._kind(position)}) cannot be compared. {READABLE}", column=name
            ) from error
        return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])

    @abstractmethod
    def _has_objects(self, position: int) -> bool:
        """Whether a column holds Python objects, whose types only a look at each one shows."""

    @abstractmethod
    def _objects(self, position: int) -> Sequence[object]:
        """The values of a column as Python objects."""

    @abstractmethod
    def _typed(self, position: int) -> pa.Array | pa.ChunkedArray:
        """A column that has a type."""

    @abstractmethod
    def _kind(self, position: int) -> str:
        """What the frame calls the type of a column."""

    @abstractmethod
    def _rows(self, start: int, n: int) -> Any:
        """At most n rows of the frame from `start` on."""

    @abstractmethod
    def _chosen(self, mask: NDArray[np.bool_]) -> Any:
        """The rows of the frame for which the mask is true."""


class PandasSource(FrameSource):
    """A pandas frame. The index is not a column; NaN, None, NA and NaT are null."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame, [str(name) for name in frame.columns], len(frame))
        self._types = list(frame.dtypes)

    def _has_objects(self, position: int) -> bool:
        return bool(self._types[position] == "object")

    def _objects(self, position: int) -> Sequence[object]:
        values: Sequence[object] = self.frame.iloc[:, position].to_numpy(dtype=object)
        return values

    def _typed(self, position: int) -> pa.Array | pa.ChunkedArray:
        pandas = sys.modules["pandas"]
        series = self.frame.iloc[:, position]
        if isinstance(series.dtype, pandas.SparseDtype):
            series = series.sparse.to_dense()
        if isinstance(series.dtype, pandas.CategoricalDtype):
            return self._categories(position, series)
        return pa.Array.from_pandas(series)

    def _categories(self, position: int, series: Any) -> pa.DictionaryArray:
        """A categorical column: each category converted once, however often it occurs."""
        categories = PandasSource(series.cat.categories.to_frame(index=False, name=self.names[position])).column(0)
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=codes < 0), categories.combine_chunks(), ordered=bool(series.cat.ordered)
        )

    def _kind(self, position: int) -> str:
        return str(self._types[position])

    def _rows(self, start: int, n: int) -> Any:
        return self.frame.iloc[start : start + n]

    def _chosen(self, mask: NDArray[np.bool_]) -> Any:
        return self.frame.iloc[mask]


class PolarsSource(FrameSource):
    """A polars frame."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame, frame.columns, frame.height)
        self._types = frame.dtypes

    def _has_objects(self, position: int) -> bool:
        # Integers of 128 bits are no Arrow type, and come as Python's.
        return str(self._types[position]) in ("Object", "Int128", "UInt128")

    def _objects(self, position: int) -> Sequence[object]:
        values: Sequence[object] = self.frame.to_series(position).to_list()
        return values

    def _typed(self, position: int) -> pa.Array:
        """The column, shared with polars where the memory layouts agree."""
        polars = sys.modules["polars"]
        return self.frame.to_series(position).to_arrow(compat_level=polars.CompatLevel.newest())

    def _kind(self, position: int) -> str:
        return str(self._types[position])

    def _rows(self, start: int, n: int) -> Any:
        return self.frame.slice(start, n)

    def _chosen(self, mask: NDArray[np.bool_]) -> Any:
        return self.frame.filter(mask)
