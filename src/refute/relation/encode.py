"""From Arrow columns to integers: picks the cheapest encoding that is exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.relation.encoded import Encoded
from refute.relation.exact import distinct_codes


def encode_columns(columns: Sequence[pa.ChunkedArray], *, ordered: bool, dense: bool) -> tuple[Encoded, ...]:
    """One encoding per column over a dictionary that all of them share."""
    codes, size = distinct_codes([_decoded(column) for column in columns])
    return tuple(Encoded(_narrow(code, size), size, int(np.count_nonzero(code < 0)), True, True) for code in codes)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _narrow(codes: NDArray[np.int64], size: int) -> NDArray[np.signedinteger]:
    return codes.astype(np.int32) if size < 2**31 - 1 else codes
