"""Keys with slots against a dict, while keys come, go and come again and the table is moved to larger ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.index.key_table import KeyTable
from thorough import examples

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 400), st.integers(0, 2**32)), max_size=30)


@examples(80)
@given(STEPS, st.integers(1, 3), st.sampled_from([1, 1 << 40]))
def test_a_table_has_the_slots_that_a_dict_has(steps: list[tuple[bool, int, int]], cells: int, stretch: int) -> None:
    table, known, slot = KeyTable(cells), dict[tuple[int, ...], int](), 0
    for comes, size, seed in steps:
        drawn = np.random.default_rng(seed).integers(-9 if cells > 1 else -900, 900, (size, cells)) * stretch
        asked = np.unique(drawn, axis=0)
        slots = table.find(asked)
        assert slots.tolist() == [known.get(tuple(key), -1) for key in asked.tolist()]
        if comes:
            new = asked[slots < 0]
            table.put(new, np.arange(slot, slot + len(new)))
            known |= {tuple(key): slot + place for place, key in enumerate(new.tolist())}
            slot += len(new)
        else:
            old = asked[slots >= 0]
            table.remove(old)
            for key in old.tolist():
                del known[tuple(key)]
        assert len(table) == len(known)
    every = np.array(sorted(known), np.int64).reshape(-1, cells)
    assert table.find(every).tolist() == [known[tuple(key)] for key in every.tolist()]


@pytest.mark.parametrize("size", [1, 1000])
def test_a_table_grows_while_keys_come_and_no_batch_moves_all_of_it(size: int) -> None:
    table = KeyTable(1)
    moving = 0
    for start in range(0, 40 * size, size):
        keys = np.arange(start, start + size).reshape(-1, 1)
        table.put(keys, keys[:, 0])
        moving += len(table._old) > 0
    assert table.find(np.arange(41 * size).reshape(-1, 1)).tolist() == [*range(40 * size), *[-1] * size]
    assert moving > 2 or size == 1
