"""A state as files, and files as a state."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refute.durable.directory import Sort
from refute.durable.files import checksum, lists, read_file, unlisted, write_file
from refute.durable.log import Commit, Logged
from refute.durable.shelf import Entry, Shelf
from refute.errors import DataError, ended
from refute.index.run import Run, RunShape
from refute.kernels.runs.rows import Arrays
from refute.language.rulebook import RuleBook
from refute.live.columns import Columns, types_of
from refute.live.frame import Frame, FrameParts
from refute.live.rows import Rows, Segment
from refute.live.state import Change, State
from refute.live.store import Violated

_SLOT = "refute slot"


@dataclass(frozen=True, slots=True)
class StateMoment:
    """All that makes up a state, as it is now: nothing of it changes when the state does."""

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
    packed: bool
    told: Entry  # facts of whoever keeps the state

    @classmethod
    def of(cls, state: State, *, packed: bool = False, told: Entry | None = None) -> StateMoment:
        """The state of this moment; `packed` rows take little room on the disk, and are not mapped."""
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
            packed,
            dict(told or {}),
        )

    @property
    def facts(self) -> Entry:
        """How many rows there are, and how many violations of each rule."""
        each = zip(self.rules, self.stores, strict=True)
        counts = {rule.name: str(store[0]) for rule, store in each}
        return {**self.told, "n_rows": self.numbers["n_rows"], "counts": counts}

    def write(self, shelf: Shelf) -> Entry:
        """Puts all parts on a shelf; what a manifest says of them."""
        body: Entry = {
            **self.numbers,
            "key": list(self.key),
            "method": self.method,
            "most": self.most,
            "rules": shelf.file(self.rules, "rules", write_rules, "yaml") if self.rules else None,
            "schema": None if self.schema is None else schema_text(self.schema),
            "rows": [shelf.file(part, "rows", self._write_segment) for part in self.segments],
            "alive": shelf.file(self.alive, "alive", _write_alive),
            "stores": [_write_store(shelf, *store) for store in self.stores],
        }
        if self.frame is not None:
            body["frame"] = _write_frame(shelf, self.frame)
        return body

    def _write_segment(self, path: Path, segment: Segment) -> Entry:
        table = segment.table.append_column(_SLOT, pa.array(segment.slots))
        return write_file(path, table, {"holds": "rows"}, packed=self.packed)


class KeptState:
    """A state of a monitor, as a folder keeps it, with facts of whoever keeps it: a commit has both or neither."""

    def __init__(self, state: State, told: Entry | None = None) -> None:
        self.state = state
        self.told: Entry = dict(told or {})

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self.state.key

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return self.state.schema

    def take_key(self, key: tuple[str, ...]) -> None:
        """Identifies rows by other columns, before the first have come."""
        self.state = self.state.with_key(key)

    @property
    def version(self) -> int:
        """How many changes it has had."""
        return self.state.version

    @property
    def facts(self) -> Entry:
        """How many rows there are, and how many violations of each rule."""
        each = zip(self.state.rules, self.state.stores, strict=True)
        counts = {rule.name: str(store.count) for rule, store in each}
        return {**self.told, "n_rows": self.state.n_rows, "counts": counts}

    def beside(self) -> bytes:
        """Nothing: all follows from the rows."""
        return b""

    def moment(self) -> StateMoment:
        """All of it, as it is now."""
        return StateMoment.of(self.state, told=self.told)

    def replay(self, commit: Commit) -> None:
        """Carries out what a commit did."""
        self.told = {name: commit.facts[name] for name in self.told if name in commit.facts}
        for change in commit.changes:
            self.state.replay(change.gone, change.table)

    def committed(self) -> None:
        """Hears that it is on the disk as it is now."""


def logged(change: Change) -> Logged:
    """What a log says of a change."""
    return Logged(change.gone, change.table)


def write_rules(path: Path, rules: tuple[Any, ...]) -> Entry:
    """Writes rules to a new file; what a manifest says of it."""
    RuleBook.of(list(rules)).to_yaml(path)
    return {"bytes": path.stat().st_size, "crc": checksum(path)}


def _write_alive(path: Path, bits: Any) -> Entry:
    return write_file(path, lists({"alive": bits}), {"holds": "alive"})


def _write_run(path: Path, run: Run) -> Entry:
    arrays = run.arrays
    table = lists({name: getattr(arrays, name) for name in ("lines", "starts", "zones", "levels", "nets")})
    facts = {"holds": "run", "equal": run.shape.n_equal, "axes": run.shape.n_axes, "shift": arrays.shift}
    return write_file(path, table, facts)


def _write_pairs(path: Path, pairs: tuple[Any, ...]) -> Entry:
    return write_file(path, lists({"st"[side]: slots for side, slots in enumerate(pairs)}), {"holds": "pairs"})


def _write_store(shelf: Shelf, count: int, listed: bool, parts: Iterable[tuple[Any, ...]]) -> Entry:
    entries = [shelf.file(part, "pairs", _write_pairs) for part in parts]
    return {"count": str(count), "listed": listed, "parts": entries}


def _write_frame(shelf: Shelf, frame: FrameParts) -> Entry:
    return {
        "nullable": sorted(frame.nullable),
        "runs": None
        if frame.runs is None
        else [[shelf.file(run, "run", _write_run) for run in runs] for runs in frame.runs],
        "encodings": [shelf.encoding("values", names, *encoding) for names, encoding in frame.encodings.items()],
    }


def state_of(body: Entry, shelf: Shelf, verify: bool) -> State:
    """The state of a manifest, whose files are mapped; raises DataError that names a file that is not as written."""
    folder = shelf.folder

    def read(entry: Entry) -> tuple[pa.Table, dict[str, Any]]:
        return read_file(folder / entry["file"], entry, verify=verify)

    rules: tuple[Any, ...] = ()
    if body["rules"] is not None:
        rules = read_rules(folder, body["rules"])
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
    schema = schema_of(body["schema"])
    segments = []
    for entry in body["rows"]:
        table = read(entry)[0]
        slots = table.column(_SLOT).to_numpy()
        segments.append(Segment(slots, table.drop_columns([_SLOT]).replace_schema_metadata(None)))
        shelf.learn(segments[-1], entry)
    state.rows = Rows(schema, segments)
    held = body["frame"]
    types = {field.name: field.type for field in schema}
    type_of = types_of(types)
    encodings = dict(shelf.read_encoding("values", entry, type_of, verify=verify) for entry in held["encodings"])

    def runs_of(entries: Sequence[Entry]) -> list[Run]:
        found = []
        for entry in entries:
            found.append(_run_of(*read(entry)))
            shelf.learn(found[-1], entry)
        return found

    runs = None if held["runs"] is None else [runs_of(entries) for entries in held["runs"]]
    columns = Columns(types, rules, state.key, nullable=held["nullable"], encodings=encodings)
    state.frame = Frame.restored(schema, columns, state.method, runs, state.rows, state.alive)
    return state


def read_rules(folder: Path, entry: Entry) -> tuple[Any, ...]:
    """The rules of a file; raises DataError where it is not as it was written."""
    path = folder / entry["file"]
    try:
        found = checksum(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {ended(error.strerror or str(error))}", path=str(path)) from error
    if found != entry["crc"]:
        raise DataError(f"{path} is damaged: its checksum does not match.", path=str(path))
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


def schema_text(schema: pa.Schema) -> str:
    """A schema as a text of a manifest."""
    return base64.b64encode(schema.remove_metadata().serialize().to_pybytes()).decode()


def schema_of(text: str) -> pa.Schema:
    """The schema that such a text says."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


FILES = ("rules", "rows", "alive", "pairs", "run", "values")
MONITOR: Sort[KeptState] = Sort("monitor", FILES, lambda body, shelf, verify: KeptState(state_of(body, shelf, verify)))
