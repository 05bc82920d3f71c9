"""A column as integers: what every layer above reads instead of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One integer per row; equal integers mean equal values, and -1 means null.

    Non-null integers lie in `[0, size)`. `ordered` says that they sort as the values do; `dense` that each number
    below `size` occurs. Sparse encodings are cheap (an integer column minus its minimum is one), dense ones are
    what arrays indexed by code need.
    """

    values: Ints  # int32 where size fits, else int64
    size: int
    nulls: int  # how many rows are null
    ordered: bool
    dense: bool

    def __len__(self) -> int:
        return len(self.values)
