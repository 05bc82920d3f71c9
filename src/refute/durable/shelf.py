"""The files of a folder that hold parts of moments, each of which is written once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from refute.durable.files import read_file, write_file
from refute.durable.log import sync_folder
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.state import EncodingState, Facts

Entry = dict[str, Any]
_MOST_PARTS = 16  # files of one encoding; more are written as one


class SavedEncoding(NamedTuple):
    """An encoding, the files that hold what it knows, and the facts of the last of them."""

    encoding: Encoding
    entries: list[Entry]
    facts: Facts


class Moment(Protocol):
    """All that is kept in a folder, as it is now: nothing of it changes when that does."""

    @property
    def facts(self) -> Entry:
        """What a look from outside shows."""
        ...

    def write(self, shelf: Shelf) -> Entry:
        """Puts all parts on a shelf; what a manifest says of them."""
        ...


class Shelf:
    """The files of a folder that hold parts of moments: each part is written once, and known by what it is."""

    def __init__(self, folder: Path, next_file: int = 0) -> None:
        self.folder = folder
        self._next = next_file
        self._known: dict[int, tuple[Callable[[], object], Entry]] = {}  # by id: the part, and what is said of it
        self._kept: dict[int, tuple[Callable[[], object], Entry]] = {}  # what the moment at hand has
        self._encodings: dict[str, SavedEncoding] = {}
        self._encoded: dict[str, SavedEncoding] = {}  # what the moment at hand has

    def write(self, moment: Moment) -> Entry:
        """Writes what is not yet written; what a manifest says of the moment. `keep` is called once that stands."""
        self._kept, self._encoded = {}, {}
        body = moment.write(self)
        body["next_file"] = self._next
        sync_folder(self.folder)
        return body

    def keep(self) -> None:
        """Takes note that what was written last is what the folder holds; all else is forgotten."""
        self._known, self._encodings = self._kept, self._encoded

    def learn(self, part: object, entry: Entry) -> None:
        """Takes note that a part is written already."""
        self._known[id(part)] = _referred(part), entry

    def file(self, part: Any, what: str, write: Callable[[Path, Any], Entry], suffix: str = "arrow") -> Entry:
        """The entry of a part, which is written unless it was before."""
        held = self._known.get(id(part)) or self._kept.get(id(part))
        if held is None or held[0]() is not part:
            path = self._path(what, suffix)
            held = _referred(part), {"file": path.name, **write(path, part)}
        self._kept[id(part)] = held
        return held[1]

    def encoding(self, what: str, names: tuple[str, ...], encoding: Encoding, whole: EncodingState) -> Entry:
        """What is written of an encoding: all of it, or, where it is the one that was, what it has learnt since.

        `what` begins the names of its files, and separates encodings of the same columns.
        """
        held = self._encodings.get(_named(what, names))
        entries: list[Entry] = []
        facts = None
        if held is not None and held.encoding is encoding and len(held.entries) < _MOST_PARTS:
            entries, facts = held.entries, held.facts
        state = whole.since(facts)
        if facts is None or len(state.strings) or len(state.labels) or state.generation != facts["generation"]:
            path = self._path(what, "arrow")
            strings = pa.LargeListArray.from_arrays(pa.array([0, len(state.strings)], pa.int64()), state.strings)
            labels = pa.LargeListArray.from_arrays(pa.array([0, len(state.labels)], pa.int64()), state.labels)
            written = write_file(path, pa.table({"strings": strings, "labels": labels}), {"facts": state.facts})
            entries = [*entries, {"file": path.name, **written}]
        self._encoded[_named(what, names)] = SavedEncoding(encoding, entries, state.facts)
        return {"columns": list(names), "parts": entries}

    def read_encoding(
        self, what: str, entry: Entry, type_of: Callable[[str], pa.DataType], *, verify: bool
    ) -> tuple[tuple[str, ...], Encoding]:
        """The columns of an encoding that was written, and itself; raises DataError that names a damaged file."""
        names = tuple(entry["columns"])
        states = []
        for part in entry["parts"]:
            table, facts = read_file(self.folder / part["file"], part, verify=verify)
            strings, labels = (table.column(name).chunk(0).values for name in ("strings", "labels"))
            states.append(EncodingState(strings, labels, facts["facts"]))
        found = Encoding.restored(map(type_of, names), *states)
        self._encodings[_named(what, names)] = SavedEncoding(found, entry["parts"], states[-1].facts)
        return names, found

    def _path(self, what: str, suffix: str) -> Path:
        path = self.folder / f"{what}-{self._next:06}.{suffix}"
        self._next += 1
        return path


def _referred(part: object) -> Callable[[], object]:
    """What gives a part. Where that is possible, it does not keep it: runs are large, and mostly merged before long."""
    try:
        return weakref.ref(part)
    except TypeError:  # a tuple
        return lambda: part


def _named(what: str, names: tuple[str, ...]) -> str:
    return "\0".join((what, *names))
