"""What was found, as a rule file and as a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import numpy as np
import pyarrow as pa
import pytest

import refute
from refute.discovery import Discovery
from refute.language.rulebook.reading.load import load_rules


def many() -> Discovery:
    """Hundreds of rules, of which those over the same columns are not next to each other when ranked."""
    draws = np.random.default_rng(0)
    table = pa.table({f"c{k}": draws.integers(0, 1000, 100) for k in range(8)})
    return refute.discover(table, cross_columns=False)


def two_sided() -> Discovery:
    """A range with more outliers above than below, whose sides need tolerances of their own."""
    draws = np.random.default_rng(1)
    values = [*draws.integers(0, 100, 990).tolist(), *[-5] * 3, *[5000] * 7]
    return refute.propose(pa.table({"id": range(1000), "x": values}))


@pytest.mark.parametrize("found", [many, two_sided])
def test_each_rule_of_the_page_has_its_own_text_to_copy(found: Callable[[], Discovery]) -> None:
    rules = found()
    rows = [unescape(row) for row in rules.to_html().split("<tr data-item=")[1:]]
    assert len(rows) == len(rules)
    for row, (rule, entries) in zip(rows, rules.written(as_ranked=True), strict=True):
        assert f'"{rule.sentence}"' in row
        assert all(entry.yaml() in row for entry, _ in entries)
        assert rule.constraint in [part.constraint for entry, _ in entries for part in entry.rules()]


def test_the_page_and_the_list_have_one_order() -> None:
    rules = many()
    assert [rule for rule, _ in rules.written(50, as_ranked=True)] == rules.top(50)


@pytest.mark.parametrize("found", [many, two_sided])
def test_a_file_that_is_cut_short_is_whole_as_far_as_it_goes_and_says_so(found: Callable[[], Discovery]) -> None:
    rules = found()
    made = 0

    def is_time_up() -> bool:
        nonlocal made
        made += 1
        return made == 3

    file = rules.rule_file("found", is_time_up=is_time_up)
    assert (file.entries, file.is_cut) == (3, True)
    assert file.text.startswith("# found\n")
    assert "# Stopped while this was written, after 3 rules: others are missing.\n" in file.text
    assert load_rules(file.text).entries == rules.book().entries[:3]
    whole = rules.rule_file("found")
    assert (load_rules(whole.text).entries, whole.is_cut) == (rules.book().entries, False)


def test_a_file_of_a_search_that_was_stopped_says_so() -> None:
    draws = np.random.default_rng(0)
    table = pa.table({f"c{k}": draws.integers(0, 300, 500) for k in range(12)})
    found = refute.discover(table, time_limit=0.01)
    text = found.to_yaml()
    assert found.partial
    assert all(f"# Note: {note}\n" in text for note in found.notes)
    assert "..\n" not in text  # notes are sentences, and end once
    assert re.match(r"# [\d,]+ rules? found by refute\.\n# Note: ", text)
