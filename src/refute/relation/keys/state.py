"""What an encoding must remember to give the same keys again, as plain Arrow and JSON."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.errors import DataError
from refute.relation.arrays import combined, numbers, row_numbers

Longs = NDArray[np.int64]
Facts: TypeAlias = dict[str, int | str]

VERSION = 1


@dataclass(frozen=True, slots=True)
class EncodingState:
    """All that an encoding remembers, or what it has learnt since an earlier state.

    `strings` are the entries of its dictionary from number `first_string` on, and only ever come behind those that
    were saved. `labels` give entries from `first_label` on their places in order. They come behind those that were
    saved too, unless `first_label` is 0: all labels have been replaced then, and these stand for all.

    `facts` are small, go through JSON, and are what `Encoding.state(since=...)` takes. The arrays may come back from a
    file in chunks, or as binary of 32-bit offsets. For states that follow each other,
    `joined([a, b]) == joined([joined([a]), b])`.
    """

    strings: pa.LargeBinaryArray
    labels: pa.Int64Array
    facts: Facts

    @property
    def first_string(self) -> int:
        """The number of the first of `strings`."""
        return int(self.facts["first_string"])

    @property
    def first_label(self) -> int:
        """The number of the entry that the first of `labels` is for."""
        return int(self.facts["first_label"])

    @property
    def generation(self) -> int:
        """The generation of all labels."""
        return int(self.facts["generation"])

    def since(self, facts: Facts | None) -> EncodingState:
        """What this whole state has beyond one that was saved, given the facts of that; all of it where none was."""
        if facts is None:
            return self
        first_string = int(facts["known"])
        first_label = int(facts["labelled"]) if facts["generation"] == self.facts["generation"] else 0
        facts = {**self.facts, "first_string": first_string, "first_label": first_label}
        return EncodingState(self.strings.slice(first_string), self.labels.slice(first_label), facts)

    @classmethod
    def joined(cls, states: Iterable[EncodingState]) -> EncodingState:
        """One state for a whole one and those that follow it; raises DataError where they do not."""
        parts = list(states)
        if not parts or parts[0].first_string:
            raise DataError("The saved encoding is incomplete: its first part is missing.")
        last = parts[-1].facts
        labels = np.empty(max(_end(part, "label") for part in parts), dtype=np.int64)
        strings, labelled = 0, 0
        for part in parts:
            if part.facts.get("version") != VERSION:
                raise DataError(
                    f"The saved encoding has version {part.facts.get('version')!r}, not {VERSION}.",
                    value=part.facts.get("version"),
                    expected=VERSION,
                )
            if part.first_string != strings or part.first_label not in (0, labelled):
                raise DataError("The saved encoding is incomplete: restore it from all parts, in their order.")
            strings, labelled = _end(part, "string"), _end(part, "label")
            labels[part.first_label : labelled] = numbers(_whole(part.labels, pa.int64()))
            if (strings, labelled) != (part.facts["known"], part.facts["labelled"]):
                raise DataError("The saved encoding is incomplete.")
        entries = [_whole(part.strings, pa.large_binary()) for part in parts]
        return cls(
            entries[0] if len(entries) == 1 else pa.concat_arrays(entries),
            row_numbers(labels[:labelled]),
            {**last, "first_string": 0, "first_label": 0},
        )


def nothing_known(kinds: str) -> EncodingState:
    """The state of an encoding whose types alone determine keys."""
    counts = dict.fromkeys(("first_string", "first_label", "known", "labelled", "recent", "generation", "span"), 0)
    return EncodingState(
        pa.array([], pa.large_binary()), pa.array([], pa.int64()), {"version": VERSION, "kinds": kinds, **counts}
    )


def text_of(kinds: Sequence[pa.DataType]) -> str:
    """Types as text that any later version of Arrow reads."""
    schema = pa.schema([pa.field(str(place), kind) for place, kind in enumerate(kinds)])
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def kinds_of(facts: Mapping[str, int | str]) -> list[pa.DataType]:
    """The types that keys were made for."""
    return list(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(str(facts["kinds"])))).types)


def _end(part: EncodingState, what: str) -> int:
    return int(part.facts[f"first_{what}"]) + len(part.strings if what == "string" else part.labels)


def _whole(array: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """One array of a type, without null."""
    found = combined(array) if isinstance(array, pa.ChunkedArray) else array
    if found.null_count:
        raise DataError("The saved encoding is damaged: it has nulls.")
    return found if found.type == kind else found.cast(kind)
