"""Where the values of comparable types have their places as integers of 64 bits, whatever rows come."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import reduce
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.errors import SchemaError
from refute.kernels.encode.dictionary import UNKNOWN
from refute.relation.arrays import ALL_VALID, Bytes, stored
from refute.relation.encode.exact import unit_of
from refute.relation.encode.floats import floats_of
from refute.relation.encode.integers import Wide, common_unit, integers_of
from refute.relation.encode.strings import Strings, is_string, strings_of
from refute.relation.encode.whole_numbers import WholeNumbers, float_keys, scaled
from refute.relation.keys.dictionary import SPAN, Dictionary, strings_of_words
from refute.relation.keys.state import EncodingState, Facts, nothing_known

Longs = NDArray[np.int64]

_SIGN = 2**63
_BITS_OF, _BITS = struct.Struct("<d"), struct.Struct("<q")
_MOST_OFTEN, _LONGEST_OFTEN = 1 << 12, 64  # strings, and their letters
_NEAR = 2**61 - 1  # numbers of a larger amount are kept in a dictionary where types go beyond 64 bits
NOWHERE: Longs = np.empty(0, dtype=np.int64)


class Placed(NamedTuple):
    """The keys of an array's rows, which rows are valid, and the rows whose value is not known."""

    values: Longs
    valid: Bytes
    unknown: Longs


class Space(Protocol):
    """The keys of all values of some types."""

    @property
    def generation(self) -> int:
        """How often ordered keys have been replaced."""

    @property
    def nbytes(self) -> int:
        """The memory of what is remembered."""

    @property
    def known(self) -> int | None:
        """How many values are remembered; None where all have keys from the start."""

    def keys(self, array: pa.Array, *, ordered: bool, extend: bool) -> Placed:
        """The keys of an array's rows; with `extend`, values that are not known become so first."""

    def key_of(self, value: object, *, ordered: bool) -> int | None:
        """The key of one value, as Python has it; None where only `keys` knows it."""

    def state(self, since: Facts | None, kinds: str) -> EncodingState:
        """What is remembered, except what an earlier state had."""

    def restore(self, state: EncodingState) -> None:
        """Takes over a whole state of a space of the same types."""


def space_of(kinds: Iterable[pa.DataType]) -> Space:
    """The space of types that compare with each other: it depends on the types alone, never on the rows."""
    kinds = list(kinds)
    if any(is_string(kind) for kind in kinds):
        return Listed(strings_of)
    whole = [kind for kind in kinds if not pt.is_floating(kind)]
    if not whole:
        return FloatBits()
    unit = reduce(common_unit, map(unit_of, whole))
    reach = max(_reach(kind) * int(unit_of(kind) / unit) for kind in whole)
    numbers = WholeNumbers(unit, reach)
    if len(whole) < len(kinds):
        return Listed(numbers.among_floats)
    if reach <= _SIGN:
        return Whole(numbers, 0)
    return Whole(numbers, -_SIGN) if all(pt.is_uint64(kind) for kind in whole) else Far(numbers)


def _reach(kind: pa.DataType) -> int:
    """A bound for the stored integers of a type: they lie in [-reach, reach)."""
    if pt.is_decimal(kind):
        return int(10**kind.precision)
    unsigned = pt.is_unsigned_integer(kind) or pt.is_boolean(kind)
    return int(2 ** (kind.bit_width if unsigned else kind.bit_width - 1))


class _Fixed:
    """A space where every value has its key from the start."""

    generation = 0
    nbytes = 0
    known = None

    def state(self, since: Facts | None, kinds: str) -> EncodingState:
        """Nothing but the types."""
        return nothing_known(kinds)

    def restore(self, state: EncodingState) -> None:
        """Nothing is remembered."""


class Whole(_Fixed):
    """Whole numbers that fit 64 bits by their types: the number of units, shifted if their order is asked for."""

    def __init__(self, numbers: WholeNumbers, shift: int) -> None:
        self._numbers = numbers
        self._shift = shift
        self._per_one = int(1 / numbers.unit) if numbers.unit.numerator == 1 else None  # units of a whole number
        self._usual: tuple[pa.DataType, bool] | None = None  # the last type, and whether it is stored as keys are

    def keys(self, array: pa.Array, *, ordered: bool, extend: bool) -> Placed:
        """The numbers; raises SchemaError where a wider type than the space was made for holds one that is beyond."""
        usual = self._usual
        if usual is None or usual[0] != array.type:
            usual = self._usual = array.type, self._is_plain(array.type)
        if usual[1] and not array.null_count:
            return Placed(stored(array, np.int64).copy(), ALL_VALID, NOWHERE)
        steps = integers_of(array)
        factor = self._numbers.factor(array.type)
        beyond = isinstance(steps, Wide)
        if not isinstance(steps, Wide) and steps.count:
            low, high = (bound * factor + self._shift for bound in (steps.low, steps.high))
            beyond = low < -_SIGN or high >= _SIGN
        if isinstance(steps, Wide) or beyond:
            raise SchemaError(
                f"A value of {array.type} is out of range for the types of these keys.", type=str(array.type)
            )
        shift = self._shift if ordered else 0  # modulo 2^64 they differ without it too, and 0 stays 0
        return Placed(scaled(steps.values, steps.valid, factor, shift), steps.valid, NOWHERE)

    def key_of(self, value: object, *, ordered: bool) -> int | None:
        """The number of units of a whole number; None for one that is out of range."""
        if type(value) is not int or self._per_one is None:
            return None
        key = value * self._per_one + (self._shift if ordered else 0)
        return key if -_SIGN <= key < _SIGN else None

    def _is_plain(self, kind: pa.DataType) -> bool:
        """Whether numbers of a type are stored as their keys are."""
        whole = kind.bit_width == 64 and not pt.is_uint64(kind) and not pt.is_decimal(kind)
        return whole and self._shift == 0 and self._numbers.factor(kind) == 1


class FloatBits(_Fixed):
    """Floats: their bits as a whole number, turned round below zero; -0.0 is 0.0, and NaN is null."""

    def keys(self, array: pa.Array, *, ordered: bool, extend: bool) -> Placed:
        """The bits; raises SchemaError for what is not a float."""
        if not pt.is_floating(array.type):
            raise SchemaError(f"{array.type} does not fit keys of floats. Cast it to a float.", type=str(array.type))
        return Placed(*float_keys(floats_of(array)), NOWHERE)

    def key_of(self, value: object, *, ordered: bool) -> int | None:
        """The bits of a float of 64 bits; those of others are as many when Python has them."""
        if type(value) is not float or value != value:
            return None
        (magnitude,) = _BITS.unpack(_BITS_OF.pack(abs(value)))
        return 0 if value == 0 else int(magnitude) + 1 if value > 0 else -int(magnitude) - 1


class _Remembering:
    """A space of keys that keeps some values in a dictionary."""

    def __init__(self) -> None:
        self._dictionary = Dictionary()

    @property
    def generation(self) -> int:
        """How often ordered keys of the dictionary have been replaced."""
        return self._dictionary.generation

    @property
    def nbytes(self) -> int:
        """The memory of the dictionary."""
        return self._dictionary.nbytes

    @property
    def known(self) -> int:
        """How many values are remembered."""
        return self._dictionary.known

    def state(self, since: Facts | None, kinds: str) -> EncodingState:
        """The state of the dictionary."""
        return self._dictionary.state(since, kinds)

    def key_of(self, value: object, *, ordered: bool) -> int | None:
        """What is kept is looked up by `keys`."""
        return None

    def restore(self, state: EncodingState) -> None:
        """Takes over the state of a dictionary."""
        self._dictionary = Dictionary.restored(state)


class Far(_Remembering):
    """Whole numbers that may go beyond 64 bits: those of less than 2^61 in amount as such, all others by a dictionary.

    The labels of the dictionary come above, or below, the numbers that are their own keys.
    """

    def __init__(self, numbers: WholeNumbers) -> None:
        super().__init__()
        self._numbers = numbers

    def keys(self, array: pa.Array, *, ordered: bool, extend: bool) -> Placed:
        """Numbers that are near as such, and far ones by the dictionary."""
        values, valid, far = self._numbers.near(array, _NEAR)
        if len(far) == 0:
            return Placed(values, valid, far)
        words = self._numbers.words(array, far)
        strings = strings_of_words(words)
        found, unknown = (self._dictionary.add(strings), 0) if extend else self._dictionary.find(strings)
        if ordered:
            beyond = _NEAR + 1 + SPAN
            negative = words[:, 0] < _SIGN
            values[far] = self._dictionary.labels(found, strings) + np.where(negative, -beyond, beyond)
        else:
            values[far] = found + (_NEAR + 1 - UNKNOWN)
        return Placed(values, valid, far[found == UNKNOWN] if unknown else NOWHERE)


class Listed(_Remembering):
    """Values that are kept in a dictionary, as strings that sort as they do."""

    def __init__(self, strings: Callable[[pa.Array], Strings]) -> None:
        super().__init__()
        self._strings = strings
        self._often: dict[str, int] = {}  # numbers of strings that came alone: of few values they come again

    def key_of(self, value: object, *, ordered: bool) -> int | None:
        """The number of a string that came alone before."""
        return None if ordered or type(value) is not str else self._often.get(value)

    def _note(self, value: str, number: int) -> None:
        if len(value) <= _LONGEST_OFTEN:
            if len(self._often) == _MOST_OFTEN:
                self._often.clear()
            self._often[value] = number

    def restore(self, state: EncodingState) -> None:
        """Takes over the state of a dictionary."""
        super().restore(state)
        self._often.clear()

    def keys(self, array: pa.Array, *, ordered: bool, extend: bool) -> Placed:
        """Numbers of the dictionary, or its labels."""
        strings = self._strings(array)
        found, unknown = (self._dictionary.add(strings), 0) if extend else self._dictionary.find(strings)
        rows = np.flatnonzero(found == UNKNOWN) if unknown else NOWHERE
        if len(found) == 1 and found[0] >= 0 and is_string(array.type):
            self._note(array[0].as_py(), int(found[0]))
        return Placed(self._dictionary.labels(found, strings) if ordered else found, strings.valid, rows)
