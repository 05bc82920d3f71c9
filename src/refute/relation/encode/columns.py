"""From Arrow columns to integers: picks the cheapest encoding that is exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from refute.relation.arrays import numbers, valid_bytes
from refute.relation.encode.dense import dense_codes, int_dtype
from refute.relation.encode.encoded import Encoded
from refute.relation.encode.exact import distinct_codes
from refute.relation.encode.floats import Floats, float_codes, floats_of, whole_steps
from refute.relation.encode.integers import Ints, Steps, Wide, integers_of, limb_codes, step_codes
from refute.relation.encode.mixed import mixed_codes
from refute.relation.encode.pieces import CUTTING, Cutting, Pieces
from refute.relation.encode.strings import is_string, string_codes
from refute.runtime.arrays import empty, full

Cut = Callable[[Sequence[pa.ChunkedArray]], Pieces]


def encode_columns(
    columns: Sequence[pa.ChunkedArray], *, ordered: bool, dense: bool, threads: int = 1, cutting: Cutting = CUTTING
) -> tuple[Encoded, ...]:
    """One encoding per column over a dictionary that all of them share."""
    plain = [_dictionary_values(column) if pt.is_dictionary(column.type) else column for column in columns]
    codes, size, is_ordered, is_dense = _plain_codes(plain, ordered, lambda typed: Pieces.of(typed, threads, cutting))
    codes = [
        _through_dictionary(column, part) if pt.is_dictionary(column.type) else part
        for column, part in zip(columns, codes, strict=True)
    ]
    if dense and not (is_dense and all(source is column for source, column in zip(plain, columns, strict=True))):
        codes, size = dense_codes(codes, size)
        is_dense = True
    else:
        is_dense = dense
    return tuple(
        Encoded(part, size, _null_count(column, part), is_ordered, is_dense)
        for column, part in zip(columns, codes, strict=True)
    )


def first_codes(encoded: Sequence[Encoded], n: int, *, dense: bool) -> tuple[Encoded, ...]:
    """The encodings of the first n rows, by the codes of all; without gaps if `dense`."""
    codes = [each.values[:n] for each in encoded]
    size = encoded[0].size
    if dense:
        codes, size = dense_codes(codes, size)
    return tuple(
        Encoded(part, size, int(np.count_nonzero(part < 0)) if each.nulls else 0, each.ordered, dense)
        for part, each in zip(codes, encoded, strict=True)
    )


def _null_count(column: pa.ChunkedArray, codes: Ints) -> int:
    """How many rows are null; Arrow does not count NaN, nor nulls in dictionaries."""
    if pt.is_floating(column.type) or pt.is_dictionary(column.type):
        return int(np.count_nonzero(codes < 0))
    return int(column.null_count)


def _plain_codes(columns: Sequence[pa.ChunkedArray], ordered: bool, cut: Cut) -> tuple[list[Ints], int, bool, bool]:
    """Codes, size, whether they are ordered, and whether they are dense, for columns that are not dictionaries."""
    held = [position for position, column in enumerate(columns) if not pt.is_null(column.type)]
    codes, size, is_ordered, is_dense = _typed_codes([columns[i] for i in held], ordered, cut)
    typed = dict(zip(held, codes, strict=True))
    found: list[Ints] = [
        typed[i] if i in typed else full(len(column), -1, int_dtype(size)) for i, column in enumerate(columns)
    ]
    return found, size, is_ordered, is_dense


def _typed_codes(columns: Sequence[pa.ChunkedArray], ordered: bool, cut: Cut) -> tuple[list[Ints], int, bool, bool]:
    if not columns:
        return [], 0, True, True
    pieces = cut(columns)
    if any(is_string(column.type) for column in columns):
        codes, size, is_ordered = string_codes(pieces, ordered=ordered)
        return codes, size, is_ordered, False
    if all(pt.is_floating(column.type) for column in columns):
        codes, size = float_codes(pieces, pieces.each(floats_of, pieces.arrays))
        return codes, size, True, False
    found = _number_codes(pieces)
    if found is not None:
        return *found, True, False
    ranks, size = distinct_codes(columns)
    return [part.astype(int_dtype(size), copy=False) for part in ranks], size, True, True


def _number_codes(pieces: Pieces) -> tuple[list[Ints], int] | None:
    """Codes of whole numbers of some units, with floats among them or not; None where integers cannot hold them."""
    numbers = pieces.each(_number, pieces.arrays)
    steps = [piece for piece in numbers if isinstance(piece, Steps)]
    whole = [piece for piece in numbers if isinstance(piece, Steps | Wide)]
    found = step_codes(pieces, steps) if len(steps) == len(numbers) else None
    if found is not None:
        return found
    if len(whole) == len(numbers) and len({piece.unit for piece in whole}) == 1:
        found = limb_codes(whole)
    plain = [piece for piece in numbers if not isinstance(piece, Wide)]
    if found is None and len(plain) == len(numbers) > len(whole):
        found = mixed_codes(plain)
    return None if found is None else (pieces.joined(found[0]), found[1])


def _number(array: pa.Array) -> Steps | Wide | Floats:
    """The array as whole numbers of a unit; as it is when it holds floats with fractions or beyond 62 bits."""
    if not pt.is_floating(array.type):
        return integers_of(array)
    values = floats_of(array)
    steps = whole_steps(values)
    return values if steps is None else steps


def _dictionary_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The dictionaries of all chunks, each once."""
    return pa.chunked_array(_dictionaries(column)[0], type=column.type.value_type)


def _dictionaries(column: pa.ChunkedArray) -> tuple[list[pa.Array], list[int]]:
    """The different dictionaries of the chunks, and for each chunk where its own starts when they are put in a row."""
    starts: dict[tuple[int | None, ...], int] = {}
    found: list[pa.Array] = []
    places = []
    end = 0
    for chunk in column.chunks:
        values = chunk.dictionary
        identity = (len(values), values.offset, *(part.address if part else None for part in values.buffers()))
        if identity not in starts:
            starts[identity] = end
            end += len(values)
            found.append(values)
        places.append(starts[identity])
    return found, places


def _through_dictionary(column: pa.ChunkedArray, codes: Ints) -> Ints:
    """The code of each row, given the codes of the dictionaries put in a row."""
    found: Ints = empty(len(column), codes.dtype)
    at = 0
    for chunk, place in zip(column.chunks, _dictionaries(column)[1], strict=True):
        indices = chunk.indices
        valid = valid_bytes(indices)
        rows = numbers(indices)  # those of null are cut off below
        part = found[at : at + len(chunk)]
        if len(chunk.dictionary) == 0:
            part[:] = -1
        else:
            np.take(codes[place : place + len(chunk.dictionary)], rows, out=part, mode="clip")
            if len(valid):
                part[valid == 0] = -1
        at += len(chunk)
    return found
