"""A monitor refuses what a check refuses, with the same message and the same facts."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

import refute as rf
from refute.errors import RefuteError

ROWS = pa.table({"id": [1, 2], "zip": ["a", "a"], "city": ["x", "y"], "lists": [[1], [2]]})
CONDITION = {"version": 1, "rules": [{"name": "r", "fd": "zip -> city", "where": "cty = 'x'"}]}

FAULTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "unknown column": ("zipp -> city", {}),
    "unknown column of a condition": (CONDITION, {}),
    "two types": ("not (s.id = t.zip)", {}),
    "several rules": (["zipp -> city", "not (s.id = t.zip)"], {}),
    "column that cannot be compared": ("unique(lists)", {}),
    "unknown key column": ("zip -> city", {"key": "idd"}),
    "key column twice": ("zip -> city", {"key": ["id", "id"]}),
    "unknown nulls": ("zip -> city", {"nulls": "sqll"}),
    "text that is not a rule": ("zip => city", {}),
    "no rules": ([], {}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_monitor_and_a_check_refuse_in_the_same_words(name: str) -> None:
    rules, options = FAULTS[name]
    with pytest.raises(RefuteError) as checked:
        rf.check(ROWS, rules, **options)
    with pytest.raises(RefuteError) as watched:
        rf.Monitor(rules, **options).insert(ROWS)
    assert (type(watched.value), str(watched.value)) == (type(checked.value), str(checked.value))
    assert watched.value.facts == checked.value.facts


@pytest.mark.parametrize("name", FAULTS)
def test_errors_go_to_other_processes_with_their_facts(name: str) -> None:
    rules, options = FAULTS[name]
    with pytest.raises(RefuteError) as error:
        rf.check(ROWS, rules, **options)
    copy = pickle.loads(pickle.dumps(error.value))
    assert (type(copy), str(copy), copy.facts) == (type(error.value), str(error.value), error.value.facts)
