"""What a tracker knows as files, what a commit changes of it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Counts
from refute.discovery.space.slots import Words
from refute.durable.files import PACKED, lists, read_file, unlisted, write_file
from refute.durable.shelf import Entry, Shelf
from refute.relation.keys.encoding import Encoding
from refute.tracking.ages import RuleAges
from refute.tracking.codes import Longs
from refute.tracking.evidence.known import NONE, KnownPoints, Mask, ascending, places
from refute.tracking.meeting.cover import Chosen
from refute.tracking.rows import TrackedRows
from refute.tracking.tracking import Tracking


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Points with counts or witnesses, maximal boxes, and the rules that came late: nothing of it ever changes.

    Rows are given by their slots, so it does not matter how a tracking numbers them. Points and boxes ascend.
    """

    points: Words
    counts: Counts
    covered: Mask
    witnesses: Longs  # (points, most, 2), -1 where there is none
    boxes: Words
    dated: Words
    since: Longs

    @classmethod
    def of(cls, tracking: Tracking, ages: RuleAges) -> Knowledge:
        """What is known at this moment."""
        known = tracking.known
        held = known.witnesses
        pairs = np.stack([held >> 32, held & 0xFFFFFFFF], axis=2)
        listed = held != NONE
        slots = np.where(listed[:, :, None], tracking.rows.slots[np.where(listed[:, :, None], pairs, 0)], NONE)
        dated = ages.dated
        return cls(
            known.points.copy(), known.counts.copy(), known.covered.copy(), slots, ascending(tracking.boxes), *dated
        )


@dataclass(frozen=True, slots=True)
class SavedTracking:
    """All that a tracking needs to go on, beside its rows: nothing is searched again."""

    knowledge: Knowledge
    sets: tuple[Chosen, ...]  # the counted sets of equalities
    planned: int  # rows that there were when these were chosen
    moved: int  # rows that came or went since
    work: float  # rows that a row met by them
    encodings: Mapping[tuple[str, ...], Encoding]

    @property
    def boxes(self) -> Words:
        """The maximal boxes."""
        return self.knowledge.boxes

    def known(self, rows: TrackedRows, most: int) -> KnownPoints:
        """The points, with witnesses by the numbers of rows; of more than `most`, the first ones."""
        held = self.knowledge
        found = KnownPoints(rows.space, most)
        found.points, found.counts, found.covered = held.points.copy(), held.counts.copy(), held.covered.copy()
        kept = held.witnesses[:, :most]
        numbers = rows.numbers(kept)
        packed = np.where(kept[:, :, 0] == NONE, NONE, (numbers[:, :, 0] << 32) | numbers[:, :, 1])
        found.witnesses = np.full((len(packed), most), NONE, np.int64)
        found.witnesses[:, : packed.shape[1]] = packed
        return found


def difference(before: Knowledge, after: Knowledge) -> bytes:
    """What one moment knows and another does not, both in one space, as an Arrow stream."""
    at = places(before.points, after.points)
    there = at >= 0
    now, then = np.flatnonzero(there), at[there]
    changed = ~there
    changed[now] |= before.counts[then] != after.counts[now]
    changed[now] |= (before.witnesses[then] != after.witnesses[now]).any(axis=(1, 2))
    late = after.since > np.where((place := places(before.dated, after.dated)) >= 0, _taken(before.since, place), 1)
    parts: dict[str, NDArray[Any]] = {
        "points": after.points[changed],
        "counts": after.counts[changed],
        "covered": after.covered[changed].view(np.uint8),
        "witnesses": after.witnesses[changed],
        "gone": before.points[places(after.points, before.points) < 0],
        "lost": before.boxes[places(after.boxes, before.boxes) < 0],
        "gained": after.boxes[places(before.boxes, after.boxes) < 0],
        "dated": after.dated[late],
        "since": after.since[late],
    }
    sink = pa.BufferOutputStream()
    table = lists(parts)
    with pa.ipc.new_stream(sink, table.schema, options=PACKED) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def applied(before: Knowledge, told: bytes) -> Knowledge:
    """What is known once a difference has been taken in."""
    table = pa.ipc.open_stream(pa.py_buffer(told)).read_all()
    words, most = before.points.shape[1], before.witnesses.shape[1]
    parts = _shaped(table, words, most)
    kept = (places(_sorted(parts["gone"]), before.points) < 0) & (places(_sorted(parts["points"]), before.points) < 0)
    points = np.concatenate([before.points[kept], parts["points"]])
    order = np.lexsort(points.T[::-1])

    def joined(name: str) -> NDArray[Any]:
        return np.ascontiguousarray(np.concatenate([getattr(before, name)[kept], parts[name]])[order])

    stays = places(_sorted(parts["lost"]), before.boxes) < 0
    old = places(_sorted(parts["dated"]), before.dated) < 0
    dated = np.concatenate([before.dated[old], parts["dated"]])
    by_date = np.lexsort(dated.T[::-1])
    return Knowledge(
        joined("points"),
        joined("counts"),
        joined("covered"),
        joined("witnesses"),
        _sorted(np.concatenate([before.boxes[stays], parts["gained"]])),
        np.ascontiguousarray(dated[by_date]),
        np.concatenate([before.since[old], parts["since"]])[by_date],
    )


def write_knowledge(shelf: Shelf, known: Knowledge) -> Entry:
    """Puts it on a shelf; what a manifest says of it."""

    def write(path: Path, known: Knowledge) -> Entry:
        parts = {one.name: getattr(known, one.name) for one in fields(known)}
        parts["covered"] = known.covered.view(np.uint8)
        return write_file(path, lists(parts), {"holds": "points"}, packed=True)

    entry = shelf.file(known, "points", write)
    return {**entry, "words": known.points.shape[1], "witnesses": known.witnesses.shape[1]}


def read_knowledge(folder: Path, entry: Entry, *, verify: bool) -> Knowledge:
    """What was written; raises DataError that names a file which is not as it was written."""
    table, _ = read_file(folder / entry["file"], entry, verify=verify)
    return Knowledge(**_shaped(table, entry["words"], entry["witnesses"]))


def _shaped(table: pa.Table, words: int, most: int) -> dict[str, NDArray[Any]]:
    """The arrays of a row of lists, by their names."""
    shapes: Mapping[str, tuple[Any, tuple[int, ...]]] = {
        "counts": (np.int64, (-1,)),
        "covered": (np.uint8, (-1,)),
        "witnesses": (np.int64, (-1, most, 2)),
        "since": (np.int64, (-1,)),
    }
    found = {}
    for name in table.column_names:
        kind, shape = shapes.get(name, (np.uint64, (-1, words)))
        flat = unlisted(table, name, kind)
        found[name] = flat.reshape(len(flat) // max(1, int(np.prod(shape[1:]))), *shape[1:])
    found["covered"] = found["covered"].view(np.bool_)
    return found


def _taken(values: Longs, at: Longs) -> Longs:
    """The values at some places; anything where a place is negative."""
    return values[np.maximum(at, 0)] if len(values) else np.zeros(len(at), np.int64)


def _sorted(words: Words) -> Words:
    return np.ascontiguousarray(words[np.lexsort(words.T[::-1])])
