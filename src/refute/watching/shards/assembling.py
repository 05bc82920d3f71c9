"""Rows in shards as a state in this process: for those who ask about all rows, and for rows that come back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from refute.language.rulebook import Rule
from refute.live.frame import Frame
from refute.live.indexes.index import Found
from refute.live.rows import Rows, Segment
from refute.live.state import State
from refute.live.store import Violated
from refute.relation.arrays import row_numbers
from refute.watching.here import keys_of
from refute.watching.kept import STREAM
from refute.watching.places import WatchPlaces
from refute.watching.publishing.table_parts import checked_rows, unreadable
from refute.watching.shards.kept import KeptShards
from refute.watching.shards.row_numbers import RowNumbers
from refute.watching.shards.state import opened


def assembled(kept: KeptShards, places: WatchPlaces) -> State:
    """The rows of shards and the violations that are known of them as a state in this process."""
    state = State(kept.rules, kept.key, "auto", kept.most)
    state.version = kept.version
    if kept.schema is None:
        return state
    numbers = _take_rows(state, kept, places, None)
    lines = _open_lines(kept, places) if kept.listed else None
    for rule, store in zip(state.rules, state.stores, strict=True):
        if rule.name not in kept.listed:
            store.count = kept.counts[rule.name]
            store.forget()
        elif lines is not None and kept.counts[rule.name]:
            _take_violations(store, lines.filter(pc.equal(lines.column("rule"), rule.name)), numbers)
    return state


def clashing(kept: KeptShards, places: WatchPlaces, rule: Rule, limit: int | None) -> State:
    """A state of one rule: its violations, at most `limit` if given, and of all rows those that are in some of them.

    The rows of one shard at a time are in memory. Where violations are only counted, all rows are needed to find them.
    """
    lines = _open_lines(kept, places, rule.name) if rule.name in kept.listed else None
    if kept.schema is None or lines is None:
        return assembled(kept, places)
    state = State((rule,), kept.key, "auto", kept.most)
    state.version = kept.version
    own = lines.slice(0, limit)
    asked = _numbers(kept)
    for side in "st"[: state.stores[0].sides]:
        asked.of(keys_of(own, side, asked.kinds)[1])
    _take_violations(state.stores[0], own, _take_rows(state, kept, places, asked))
    return state


def _take_rows(state: State, kept: KeptShards, places: WatchPlaces, wanted: RowNumbers | None) -> RowNumbers:
    """Has the rows of shards in a state, or those with keys that are wanted; which slots they have."""
    assert kept.schema is not None
    parts = []
    for files in kept.files[: kept.layout.keepers]:
        part = opened(places.shards, files, (), kept.key, kept.schema).living()[1].cast(kept.schema)
        if wanted is not None:
            part = part.take(row_numbers(np.flatnonzero(wanted.known(part.select(list(kept.key))) >= 0)))
        parts.append(part)
    table = pa.concat_tables(parts).combine_chunks()
    state.frame = Frame.of(kept.schema, state.rules, kept.key, "auto")
    state.frame.lose()
    slots = np.arange(len(table))
    state.rows = Rows(kept.schema, [Segment(slots, table)] if len(table) else [])
    state.alive = np.ones(max(len(table), 1), np.uint8)
    state.n_rows = state.next_slot = len(table)
    numbers = _numbers(kept)
    numbers.of(table.select(list(kept.key)))
    return numbers


def _take_violations(store: Violated, lines: pa.Table, numbers: RowNumbers) -> None:
    """Takes the violations of a rule in, whose rows have these slots."""
    pairs = tuple(numbers.of(keys_of(lines, side, numbers.kinds)[1]) for side in "st"[: store.sides])
    store.add(Found(len(lines), (pairs[0], pairs[-1])), pairs, len(numbers))


def _numbers(kept: KeptShards) -> RowNumbers:
    assert kept.schema is not None
    return RowNumbers({name: kept.schema.field(name).type for name in kept.key})


def _open_lines(kept: KeptShards, places: WatchPlaces, rule: str | None = None) -> pa.Table | None:
    """The open violations of the table, or those of a rule; None where no batch has made a table."""
    told = kept.told[STREAM]["table"]
    if told is None:
        return None
    chosen = pc.field("until").is_null()
    if rule is not None:
        chosen &= pc.field("rule") == rule
    folder = places.tables / told
    try:
        return parquet.read_table(folder, filters=chosen, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            checked_rows(path)  # which names the one that is damaged
        raise unreadable(folder, error) from error
