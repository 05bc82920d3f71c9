"""Rows as a change is about to leave them, and by what they are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from refute.live.state import Change, State
from refute.relation import Relation
from refute.tracking.codes import Longs


def rows_after(state: State, change: Change) -> tuple[Relation, Longs]:
    """All rows after a change that is not carried out yet, and their slots."""
    slots, table = state.living()
    stays = ~np.isin(slots, change.gone)
    kept = table.filter(pa.array(stays)).cast(change.frame.schema)
    came = np.arange(state.next_slot, state.next_slot + change.table.num_rows)
    return Relation.of(pa.concat_tables([kept, change.table])), np.concatenate([slots[stays], came])


def row_names(state: State, change: Change, slots: Longs) -> list[Any]:
    """The keys of rows that are there or come with a change, or their numbers."""
    if not state.key:
        return list(slots.tolist())
    first = state.next_slot
    columns = []
    old = state.taken(slots[slots < first], state.key)
    new = change.table.select(state.key).take(pa.array(slots[slots >= first] - first))
    for name in state.key:
        values = np.empty(len(slots), object)
        values[slots < first] = old.column(name).to_pylist()
        values[slots >= first] = new.column(name).to_pylist()
        columns.append(values.tolist())
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
