"""A state as files, and files as a state."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refute.errors import DataError
from refute.index.run import Run, RunShape
from refute.kernels.runs.rows import Arrays
from refute.language.rulebook import RuleBook
from refute.live.columns import Columns
from refute.live.durable.files import checksum, lists, read_file, unlisted, write_file
from refute.live.durable.log import sync_folder
from refute.live.frame import Frame, FrameParts
from refute.live.rows import Rows, Segment
from refute.live.state import State
from refute.live.store import Violated
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.state import EncodingState, Facts

Entry = dict[str, Any]
_SLOT = "refute slot"
_MOST_PARTS = 16  # files of one encoding; more are written as one


@dataclass(frozen=True, slots=True)
class Moment:
    """All that makes up a state, as it is now: it does not change when the state does."""

    rules: tuple[Any, ...]
    key: tuple[str, ...]
    method: str
    most: int
    schema: pa.Schema | None
    segments: tuple[Segment, ...]
    alive: Any
    numbers: dict[str, int]
    frame: FrameParts | None
    stores: tuple[tuple[int, bool, tuple[tuple[Any, ...], ...]], ...]

    @classmethod
    def of(cls, state: State) -> Moment:
        """The state of this moment."""
        state.rows = state.rows.in_few(state.alive)
        return cls(
            state.rules,
            state.key,
            state.method,
            state.most,
            state.schema,
            state.rows.segments,
            np.packbits(state.alive[: state.next_slot]),
            {"n_rows": state.n_rows, "next_slot": state.next_slot, "version": state.version},
            None if state.frame is None else state.frame.parts(),
            tuple((store.count, store.is_listed, store.parts) for store in state.stores),
        )


class SavedEncoding(NamedTuple):
    """An encoding, the files that hold what it knows, and the facts of the last of them."""

    encoding: Encoding
    entries: list[Entry]
    facts: Facts


class Shelf:
    """The files of a folder that hold parts of states: each part is written once, and known by what it is."""

    def __init__(self, folder: Path, next_file: int = 0) -> None:
        self.folder = folder
        self._next = next_file
        self._known: dict[int, tuple[object, Entry]] = {}
        self._kept: dict[int, tuple[object, Entry]] = {}  # what the moment at hand has
        self._encodings: dict[str, SavedEncoding] = {}
        self._encoded: dict[str, SavedEncoding] = {}  # what the moment at hand has

    def write(self, moment: Moment) -> Entry:
        """Writes what is not yet written; what a manifest says of the moment. `keep` is called once that stands."""
        self._kept, self._encoded = {}, {}
        body: Entry = {
            **moment.numbers,
            "key": list(moment.key),
            "method": moment.method,
            "most": moment.most,
            "rules": self._file(moment.rules, "rules", self._rules),
            "schema": None if moment.schema is None else _schema_text(moment.schema),
            "rows": [self._file(part, "rows", self._segment) for part in moment.segments],
            "alive": self._file(moment.alive, "alive", self._alive),
            "stores": [self._store(*store) for store in moment.stores],
        }
        if moment.frame is not None:
            body["frame"] = self._frame(moment.frame)
        body["next_file"] = self._next
        sync_folder(self.folder)
        return body

    def keep(self) -> None:
        """Takes note that what was written last is what the folder holds; all else is forgotten."""
        self._known, self._encodings = self._kept, self._encoded

    def learn(self, part: object, entry: Entry) -> None:
        """Takes note that a part is written already."""
        self._known[id(part)] = part, entry

    def learn_encoding(self, names: Sequence[str], encoded: SavedEncoding) -> None:
        """Takes note of what is written of an encoding."""
        self._encodings["\0".join(names)] = encoded

    def _file(self, part: Any, what: str, write: Callable[[Path, Any], Entry]) -> Entry:
        """The entry of a part, which is written unless it was before."""
        held = self._known.get(id(part)) or self._kept.get(id(part))
        if held is None or held[0] is not part:
            suffix = "yaml" if what == "rules" else "arrow"
            name = f"{what}-{self._next:06}.{suffix}"
            self._next += 1
            held = part, {"file": name, **write(self.folder / name, part)}
        self._kept[id(part)] = held
        return held[1]

    def _rules(self, path: Path, rules: tuple[Any, ...]) -> Entry:
        RuleBook.of(list(rules)).to_yaml(path)
        return {"bytes": path.stat().st_size, "crc": checksum(path)}

    def _segment(self, path: Path, segment: Segment) -> Entry:
        table = segment.table.append_column(_SLOT, pa.array(segment.slots))
        return write_file(path, table, {"holds": "rows"})

    def _alive(self, path: Path, bits: Any) -> Entry:
        return write_file(path, lists({"alive": bits}), {"holds": "alive"})

    def _run(self, path: Path, run: Run) -> Entry:
        arrays = run.arrays
        table = lists({name: getattr(arrays, name) for name in ("lines", "starts", "zones", "levels", "nets")})
        facts = {"holds": "run", "equal": run.shape.n_equal, "axes": run.shape.n_axes, "shift": arrays.shift}
        return write_file(path, table, facts)

    def _pairs(self, path: Path, pairs: tuple[Any, ...]) -> Entry:
        return write_file(path, lists({"st"[side]: slots for side, slots in enumerate(pairs)}), {"holds": "pairs"})

    def _store(self, count: int, listed: bool, parts: Iterable[tuple[Any, ...]]) -> Entry:
        entries = [self._file(part, "pairs", self._pairs) for part in parts]
        return {"count": str(count), "listed": listed, "parts": entries}

    def _frame(self, frame: FrameParts) -> Entry:
        return {
            "nullable": sorted(frame.nullable),
            "runs": None
            if frame.runs is None
            else [[self._file(run, "run", self._run) for run in runs] for runs in frame.runs],
            "encodings": [self._encoding(names, *encoding) for names, encoding in frame.encodings.items()],
        }

    def _encoding(self, names: tuple[str, ...], encoding: Encoding, whole: EncodingState) -> Entry:
        """What is written of an encoding: all of it, or, where it is the one that was, what it has learnt since."""
        held = self._encodings.get("\0".join(names))
        entries: list[Entry] = []
        facts = None
        if held is not None and held.encoding is encoding and len(held.entries) < _MOST_PARTS:
            entries, facts = held.entries, held.facts
        state = whole.since(facts)
        if facts is None or len(state.strings) or len(state.labels) or state.generation != facts["generation"]:
            path = self.folder / f"values-{self._next:06}.arrow"
            self._next += 1
            strings = pa.LargeListArray.from_arrays(pa.array([0, len(state.strings)], pa.int64()), state.strings)
            labels = pa.LargeListArray.from_arrays(pa.array([0, len(state.labels)], pa.int64()), state.labels)
            written = write_file(path, pa.table({"strings": strings, "labels": labels}), {"facts": state.facts})
            entries = [*entries, {"file": path.name, **written}]
        self._encoded["\0".join(names)] = SavedEncoding(encoding, entries, state.facts)
        return {"columns": list(names), "parts": entries}


def restored(folder: Path, body: Entry, shelf: Shelf, *, verify: bool) -> State:
    """The state of a manifest, whose files are mapped; raises DataError that names a file that is not as written."""

    def read(entry: Entry) -> tuple[pa.Table, dict[str, Any]]:
        return read_file(folder / entry["file"], entry, verify=verify)

    rules = _read_rules(folder, body["rules"])
    shelf.learn(rules, body["rules"])
    state = State(rules, body["key"], body["method"], body["most"])
    state.n_rows, state.next_slot, state.version = (body[name] for name in ("n_rows", "next_slot", "version"))
    bits = unlisted(read(body["alive"])[0], "alive", np.uint8)
    state.alive = np.unpackbits(bits, count=state.next_slot) if state.next_slot else state.alive
    for number, entry in enumerate(body["stores"]):
        parts = [_pairs_of(read(part)[0], shelf, part) for part in entry["parts"]]
        sides = state.stores[number].sides
        state.stores[number] = Violated.restored(
            sides, body["most"], int(entry["count"]), parts if entry["listed"] else None
        )
    if body["schema"] is None:
        return state
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(body["schema"])))
    segments = []
    for entry in body["rows"]:
        table = read(entry)[0]
        slots = table.column(_SLOT).to_numpy()
        segments.append(Segment(slots, table.drop_columns([_SLOT]).replace_schema_metadata(None)))
        shelf.learn(segments[-1], entry)
    state.rows = Rows(schema, segments)
    held = body["frame"]
    encodings = {}
    for entry in held["encodings"]:
        names = tuple(entry["columns"])
        states = [_encoding_state(*read(part)) for part in entry["parts"]]
        encodings[names] = Encoding.restored([schema.field(name).type for name in names], *states)
        shelf.learn_encoding(names, SavedEncoding(encodings[names], entry["parts"], states[-1].facts))

    def runs_of(entries: Sequence[Entry]) -> list[Run]:
        found = []
        for entry in entries:
            found.append(_run_of(*read(entry)))
            shelf.learn(found[-1], entry)
        return found

    runs = None if held["runs"] is None else [runs_of(entries) for entries in held["runs"]]
    types = {field.name: field.type for field in schema}
    columns = Columns(types, rules, state.key, nullable=held["nullable"], encodings=encodings)
    state.frame = Frame.restored(schema, columns, state.method, runs, state.rows, state.alive)
    return state


def _read_rules(folder: Path, entry: Entry) -> tuple[Any, ...]:
    path = folder / entry["file"]
    try:
        found = checksum(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}", path=str(path)) from error
    if found != entry["crc"]:
        raise DataError(f"{path} is damaged: its checksum does not match", path=str(path))
    return tuple(RuleBook.of(str(path)))


def _pairs_of(table: pa.Table, shelf: Shelf, entry: Entry) -> tuple[Any, ...]:
    found = tuple(
        unlisted(table, field.name, np.int32 if field.type.value_type == pa.int32() else np.int64)
        for field in table.schema
    )
    shelf.learn(found, entry)
    return found


def _run_of(table: pa.Table, facts: dict[str, Any]) -> Run:
    shape = RunShape(facts["equal"], facts["axes"])
    lines = unlisted(table, "lines", np.int64).reshape(-1, shape.width)
    zones = (
        unlisted(table, "zones", np.int64).reshape(-1, 2 * shape.n_axes) if shape.n_axes else np.empty((0, 0), np.int64)
    )
    return Run(
        shape,
        Arrays(
            lines,
            unlisted(table, "starts", np.int32),
            zones,
            unlisted(table, "levels", np.int64),
            unlisted(table, "nets", np.int64),
            shape.n_equal,
            facts["shift"],
        ),
    )


def _encoding_state(table: pa.Table, facts: dict[str, Any]) -> EncodingState:
    strings, labels = (table.column(name).chunk(0).values for name in ("strings", "labels"))
    return EncodingState(strings, labels, facts["facts"])


def _schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.remove_metadata().serialize().to_pybytes()).decode()
