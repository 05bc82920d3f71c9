"""Rows in shards as a state in this process: for those who ask about all rows, and for rows that come back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from refute.live.frame import Frame
from refute.live.index import Found
from refute.live.rows import Rows, Segment
from refute.live.state import State
from refute.watching.here import keys_of
from refute.watching.kept import STREAM
from refute.watching.numbers import RowNumbers
from refute.watching.places import WatchPlaces
from refute.watching.shards.kept import KeptShards
from refute.watching.shards.state import opened


def assembled(kept: KeptShards, places: WatchPlaces) -> State:
    """The rows of shards and the violations that are known of them as a state in this process."""
    state = State(kept.rules, kept.key, "auto", kept.most)
    state.version = kept.version
    if kept.schema is None:
        return state
    tables = [
        opened(places.shards, files, (), kept.key, kept.schema).living()[1]
        for files in kept.files[: kept.layout.keepers]
    ]
    table = pa.concat_tables([one.cast(kept.schema) for one in tables]).combine_chunks()
    state.frame = Frame.of(kept.schema, kept.rules, kept.key, "auto")
    state.frame.lose()
    slots = np.arange(len(table))
    state.rows = Rows(kept.schema, [Segment(slots, table)] if len(table) else [])
    state.alive = np.ones(max(len(table), 1), np.uint8)
    state.n_rows = state.next_slot = len(table)
    numbers = RowNumbers({name: kept.schema.field(name).type for name in kept.key})
    numbers.of(table.select(list(kept.key)))  # which are the slots then
    told = kept.told[STREAM]["table"]
    lines = None if told is None else _open_lines(places.tables / told)
    for rule, store in zip(state.rules, state.stores, strict=True):
        if rule.name not in kept.listed:
            store.count = kept.counts[rule.name]
            store.forget()
        elif lines is not None and kept.counts[rule.name]:
            own = lines.filter(pc.equal(lines.column("rule"), rule.name))
            pairs = tuple(numbers.of(keys_of(own, side, numbers.kinds)[1]) for side in "st"[: store.sides])
            store.add(Found(len(own), pairs if len(pairs) == 2 else (pairs[0], pairs[0])), pairs, len(table))
    return state


def _open_lines(folder: Path) -> pa.Table:
    lines = parquet.read_table(folder, partitioning=None)
    return lines.filter(lines.column("until").is_null())
