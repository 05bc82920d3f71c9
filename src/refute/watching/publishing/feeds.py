"""The feed of a watch: violations that came and went with each batch, by pair and by row, a file each.

Changes of rules have files too, so all that the files say together is which violations the table has as open.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refute.durable.log import sync_folder
from refute.live.store import SlotMoves
from refute.watching.outcome import BatchOutcome
from refute.watching.places import WatchPlaces
from refute.watching.publishing.table_parts import Longs, repeated_text, write_parquet
from refute.watching.records import Instant

ADDED, RESOLVED = "added", "resolved"
_OWN = ("batch", "rule", ADDED, RESOLVED)  # columns of the feed of rows, which columns of a key do not replace
MOST_FILES = 1000  # of each feed: the newest
_SPARSE = 16  # rows for each that has changed, from which counts of all rows are not made
_FEW = 64  # files beyond that are removed at once


class Feeds:
    """Files by batch, which are written before the batch is committed and get their names after it."""

    def __init__(self, places: WatchPlaces, key: Sequence[str]) -> None:
        self._folders = (places.pairs, places.rows)
        self._key = tuple(key)

    def open(self, name: str | None) -> None:
        """Names the files that were committed last; those that were not go, and those of a newer state."""
        for folder in self._folders:
            for path in list(folder.glob(".batch-*.part")):
                if name is not None and path.name == _draft(folder, name).name:
                    os.replace(path, folder / name)
                else:
                    path.unlink()
            for path in list(folder.glob("batch-*.parquet")):
                if name is None or path.name > name:
                    path.unlink()

    def write(self, instant: Instant, outcomes: Sequence[BatchOutcome], schema: pa.Schema) -> str:
        """Writes what has changed, which readers do not see yet; the name of the files."""
        lines, rows = [], []
        for outcome in outcomes:
            for rule, (new, old) in outcome.pairs.items():
                for word, table in zip((ADDED, RESOLVED), outcome.clashes[rule], strict=True):
                    if len(table):
                        lines.append(_lines(instant.batch, rule, word, table, schema))
                if len(new[0]) or len(old[0]):
                    rows.append(self._by_row(instant.batch, rule, outcome))
        name = _name(instant)
        for folder, tables in zip(self._folders, (lines, rows), strict=True):
            if tables:
                write_parquet(_draft(folder, name), pa.concat_tables(tables))
        return name

    def show(self, name: str) -> None:
        """Lets readers see the files of a name."""
        for folder in self._folders:
            with contextlib.suppress(FileNotFoundError):  # nothing has changed
                os.replace(_draft(folder, name), folder / name)
                sync_folder(folder)
                self._sweep(folder)

    def _by_row(self, batch: int, rule: str, outcome: BatchOutcome) -> pa.Table:
        """How many violations each row has got and lost."""
        new, old = outcome.pairs[rule]
        slots, counts = _counted(np.concatenate(new), _named(old, outcome.vanished, outcome.moved))
        named = outcome.named(rule, slots)
        told = {"batch": _repeat(batch, len(slots)), "rule": repeated_text(rule, len(slots)), "id": named.column("s")}
        told |= {f"key_{name}" if name in _OWN else name: named.column(f"s_{name}") for name in self._key}
        return pa.table({**told, ADDED: counts[0], RESOLVED: counts[1]})

    def _sweep(self, folder: Path) -> None:
        names = sorted(name for name in os.listdir(folder) if name.startswith("batch-"))
        for name in names[: max(len(names) - MOST_FILES, 0)][:_FEW]:
            (folder / name).unlink(missing_ok=True)


def _named(old: tuple[Longs, ...], gone: Longs, moved: tuple[Longs, Longs]) -> Longs:
    """The rows of violations that went: by the slots that they have now, or `~slot` for rows that are gone."""
    lost = np.concatenate(old)
    nowhere = np.setdiff1d(gone, moved[0])
    return np.where(np.isin(lost, nowhere), ~lost, SlotMoves(*moved).renamed(lost))


def _counted(got: Longs, lost: Longs) -> tuple[Longs, tuple[Longs, Longs]]:
    """The distinct rows of both, in order, and how often each is in the one and in the other."""
    least = int(min(lost.min(initial=0), 0))
    wide = int(max(got.max(initial=0), lost.max(initial=0))) + 1 - least
    if wide > _SPARSE * (len(got) + len(lost)):  # a sort takes less than a look at all rows
        slots, where = np.unique(np.concatenate([got, lost]), return_inverse=True)
        parts = where[: len(got)], where[len(got) :]
        return slots, (np.bincount(parts[0], minlength=len(slots)), np.bincount(parts[1], minlength=len(slots)))
    came = np.bincount(got - least, minlength=wide)
    if not len(lost):  # as mostly, and then no second array as long as all rows is looked through
        places = np.flatnonzero(came)
        return places, (came[places], np.zeros(len(places), np.int64))
    went = np.bincount(lost - least, minlength=wide)
    places = np.flatnonzero(came + went)
    return places + least, (came[places], went[places])


def _lines(batch: int, rule: str, word: str, clashes: pa.Table, schema: pa.Schema) -> pa.Table:
    """Violations as lines of the feed, with the columns of the table of violations but for `since` and `until`."""
    count = len(clashes)
    told = {"batch": _repeat(batch, count), "rule": repeated_text(rule, count), "change": repeated_text(word, count)}
    for one in schema:
        if one.name not in ("rule", "since", "until"):
            known = one.name in clashes.column_names
            told[one.name] = clashes.column(one.name).cast(one.type) if known else pa.nulls(count, one.type)
    return pa.table(told)


def _repeat(number: int, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, pa.int64()), count)


def _name(instant: Instant) -> str:
    """The name of a file. Their order is that of instants."""
    after = f"_rules-{instant.rule_change:06}" if instant.rule_change else ""
    return f"batch-{'-00000000001' if instant.batch < 0 else f'{instant.batch:012}'}{after}.parquet"


def _draft(folder: Path, name: str) -> Path:
    return folder / f".{name}.part"
