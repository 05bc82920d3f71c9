"""The rows that a monitor keeps: small segments are joined, nothing is lost, and most rows are copied once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.live import rows as kept
from refute.live.rows import JOINING, Joining, Rows, Segment

SCHEMA = pa.schema([("x", pa.int64())])


def filled(sizes: list[int], alive: kept.Alive, joining: Joining = JOINING) -> Rows:
    """Rows that came in batches of these sizes, each with its slot as its value."""
    found, first = Rows(SCHEMA, joining=joining), 0
    for size in sizes:
        slots = np.arange(first, first + size)
        found = found.with_more(pa.table({"x": slots}), slots, alive)
        first += size
    return found


@given(st.lists(st.integers(1, 12), max_size=30), st.data())
def test_joining_small_segments_loses_no_living_row(sizes: list[int], data: st.DataObject) -> None:
    alive = np.ones(sum(sizes) + 1, np.uint8)
    for slot in data.draw(st.sets(st.integers(0, sum(sizes)), max_size=5)):
        alive[slot] = 0
    joining = Joining(full=16, small=3)
    found = filled(sizes, alive, joining)
    slots, table = found.living(alive)
    assert found._tail == Rows(SCHEMA, found.segments, joining)._tail
    assert found._tail[1] < 16 + 12
    assert slots.tolist() == np.flatnonzero(alive[:-1]).tolist() == table.column("x").to_pylist()
    assert found.take(slots[::-1]).column("x").to_pylist() == slots[::-1].tolist()


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.data())
def test_rows_are_taken_in_any_order_and_again(sizes: list[int], data: st.DataObject) -> None:
    firsts = np.cumsum([0, *sizes])
    parts = [np.arange(first, first + size) for first, size in zip(firsts, sizes, strict=False)]
    rows = Rows(SCHEMA, [Segment(part, pa.table({"x": part})) for part in parts])
    asked = data.draw(st.lists(st.integers(0, sum(sizes) - 1), max_size=40))
    for kind in (np.int32, np.int64):
        assert rows.take(np.array(asked, kind)).column("x").to_pylist() == asked


@pytest.mark.parametrize("size", [600, 1000, 1100])
def test_batches_that_fill_a_segment_are_copied_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    join = kept._joined

    def joined(parts: Sequence[Segment], alive: kept.Alive) -> Segment:
        copied.append(sum(len(part.slots) for part in parts))
        return join(parts, alive)

    monkeypatch.setattr(kept, "_joined", joined)
    batches = 3 * JOINING.full // size
    filled([size] * batches, np.ones(batches * size, np.uint8))
    assert 0 < sum(copied) <= batches * size


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 4)), max_size=30))
def test_a_moment_stays_as_it_was_whatever_comes_after_it_or_after_one_before_it(steps: list[tuple[int, int]]) -> None:
    alive = np.ones(200, np.uint8)
    moments, expected = [Rows(SCHEMA, joining=Joining(small=5))], [0]
    for number, (back, size) in enumerate(steps):
        at = max(len(moments) - 1 - back, 0) if number % 3 == 0 else len(moments) - 1
        slots = np.arange(expected[at], expected[at] + size)
        moments.append(moments[at].with_more(pa.table({"x": slots}), slots, alive))
        expected.append(expected[at] + size)
    for moment, rows in zip(moments, expected, strict=True):
        assert moment.living(alive)[1].column("x").to_pylist() == list(range(rows))
