"""A column as integers that mean the same in every call: what state that outlives a table is made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from refute.relation.arrays import Bytes
from refute.relation.encode.encoded import Encoded
from refute.relation.encode.integers import Steps, limb_codes, step_codes
from refute.relation.encode.pieces import Pieces


@dataclass(frozen=True, slots=True)
class Keys:
    """One integer of 64 bits per row; equal ones mean equal values.

    `valid` has a byte per row, 0 for null, or is empty where no row is null; the key of a null means nothing, for all
    2^64 numbers may be keys. `ordered` says that keys sort as the values do. Unordered keys never change; ordered ones
    compare with others of the same `generation` of the same encoding.
    """

    values: NDArray[np.int64]
    valid: Bytes
    ordered: bool
    generation: int
    unknown: NDArray[np.int64]  # the rows whose value the encoding does not know

    def __len__(self) -> int:
        return len(self.values)

    def encoded(self) -> Encoded:
        """The keys as methods for tables want them: those minus the smallest, or ranks where these span too much."""
        steps = Steps.of(self.values, self.valid, Fraction(1))
        codes, size = step_codes(Pieces.apart([self.values]), [steps]) or limb_codes([steps])
        return Encoded(codes[0], size, len(self) - steps.count, self.ordered, dense=False)
