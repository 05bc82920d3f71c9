"""A column as integers that mean the same in every call: what state that outlives a table is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from refute.errors import DataError
from refute.relation.arrays import ALL_VALID, Bytes
from refute.relation.encode.encoded import Encoded
from refute.relation.encode.integers import Steps, limb_codes, step_codes
from refute.relation.encode.pieces import Pieces

NULL_KEY = -(2**63)  # of null, where it counts as a value


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

    def with_nulls(self) -> Keys:
        """The keys with NULL_KEY for null, all of them valid; raises DataError where a value has that key.

        64 bits have no key left beside those of all numbers of 64 bits: one of these cannot stand beside null.
        """
        missing = self.valid == 0
        taken = self.values == NULL_KEY
        if len(missing):
            taken &= ~missing
        if taken.any():
            raise DataError(
                f"Row {int(taken.argmax()):,} holds -2^63 (or 2^63 if unsigned), the one 64-bit number whose key means "
                "null where nulls are equal. Leave the row out, or make the number null.",
                row=int(taken.argmax()),
            )
        values = self.values
        if len(missing):
            values = np.where(missing, np.int64(NULL_KEY), values)
        return replace(self, values=values, valid=ALL_VALID)

    def encoded(self) -> Encoded:
        """The keys as methods for tables want them: those minus the smallest, or ranks where these span too much."""
        steps = Steps.of(self.values, self.valid, Fraction(1))
        codes, size = step_codes(Pieces.apart([self.values]), [steps]) or limb_codes([steps])
        return Encoded(codes[0], size, len(self) - steps.count, self.ordered, dense=False)
