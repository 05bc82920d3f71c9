"""Which cells are in question, what is suggested for them, and what speaks for it."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from covers import violations_of
from refute.blame.tuples import TupleIndex, matching
from refute.language.nulls import Nulls
from refute.language.parsing.parser import parse_condition
from refute.language.rulebook import RuleBook
from refute.report.suspects import Suspect
from thorough import examples


def lines_of(columns: dict[str, list[Any]], rules: Any, **options: Any) -> list[Suspect]:
    """The lines of the suspects of a table."""
    return list(rf.suspects(pa.table(columns), rules, **options))


def test_a_right_hand_cell_has_the_value_of_its_group_and_who_says_so() -> None:
    zips, cities = ["80836"] * 32, ["Fairdale"] * 31 + ["Fairdael"]
    (line,) = lines_of({"zip": zips, "city": cities}, "zip -> city")
    assert line.row == 31
    assert (line.violations, line.clears) == (62, 62)
    (cell,) = line.cells
    assert cell == ("city", "Fairdael", "Fairdale", "31 of 32 rows with zip 80836 say Fairdale")


def test_nothing_is_suggested_where_not_more_than_half_says_so() -> None:
    lines = lines_of({"zip": [1] * 4, "city": ["a", "a", "b", "c"]}, "zip -> city")
    assert [line.row for line in lines] == [2, 3]
    assert {(cell.column, cell.suggestion) for line in lines for cell in line.cells} == {("city", None)}


def test_a_value_with_which_another_rule_would_break_is_withheld() -> None:
    table: dict[str, list[Any]] = {"zip": [1] * 8 + [2] * 2, "city": [*"aaaaaaabcc"], "id": [*range(10)]}
    (free,) = lines_of(table, ["zip -> city"])
    assert (free.row, free.cells[0].suggestion) == (7, "a")
    taken = table | {"mark": [7, 1, 2, 3, 4, 5, 6, 7, 8, 9]}  # with city a, row 7 would be a second (a, 7)
    (line,) = lines_of(taken, ["zip -> city", "unique(city, mark)"])
    assert (line.row, line.cells[0].column, line.cells[0].suggestion) == (7, "city", None)
    (line,) = lines_of(table, ["zip -> city", "not (s.city = 'a' and s.id > 6)"])
    assert (line.row, line.cells[0].suggestion) == (7, None)


def test_a_left_hand_cell_is_named_on_evidence_alone() -> None:
    zips = ["1"] * 6 + ["2"] * 6
    cities, states = ["a"] * 6 + ["b"] * 6, ["X"] * 6 + ["Y"] * 6
    streets = [f"street {i}" for i in range(12)]
    zips[5] = "2"  # everything else says 1
    rules = ["zip -> city", "zip -> state", "city -> state"]
    (line, other) = lines_of({"zip": zips, "city": cities, "state": states, "street": streets}, rules)
    assert line.row == other.row == 5
    assert {cell.column for cell in (*line.cells, *other.cells)} == {"zip"}
    (alone,) = lines_of({"zip": zips, "city": cities}, "zip -> city")
    assert [cell.column for cell in alone.cells] == ["city"]


@pytest.mark.parametrize("names", list(permutations("abcd")))
def test_what_columns_are_called_does_not_decide_which_cell_is_wrong(names: tuple[str, ...]) -> None:
    """Two rules say of the last row that its state is wrong, and one, by a single row, that its city is."""
    rows = [(at, "z4", "c2", "s2") for at in range(10)] + [(10 + at, "z6", "c1", "s0") for at in range(11)]
    id_, zip_, city, state = names
    table = dict(zip(names, map(list, zip(*rows, (20, "z4", "c2", "s0"), strict=True)), strict=True))
    rules = [f"{city} -> {state}", f"{id_} -> {city}", f"{zip_} -> {state}"]
    lines = lines_of(table, rules)
    assert {line.row for line in lines} == {21}
    found = {cell.column: cell[2:] for line in lines for cell in line.cells}
    assert found[state][0] == "s2"
    assert found[state][1] in (f"10 of 11 rows with {city} c2 say s2", f"10 of 11 rows with {zip_} z4 say s2")
    assert zip_ not in found


@pytest.mark.parametrize(
    "order", list(permutations(["zip -> city", "zip, city -> state", "id -> city", "zip -> state"]))
)
def test_the_order_of_rules_does_not_decide_what_is_suggested(order: tuple[str, ...]) -> None:
    table = {"id": [0, 2, 3, 8, 2], "zip": [1, 1, 1, 1, 107], "city": [0] * 5, "state": [1, 1, 1, 108, 0]}
    lines = lines_of(table, order)
    assert {line.row for line in lines} == {3}
    assert {cell for line in lines for cell in line.cells} == {
        ("state", "108", "1", "3 of 4 rows with zip 1 say 1"),
    }


def test_what_one_row_says_of_a_left_hand_cell_holds_where_no_other_rule_doubts_it() -> None:
    table = {
        "zip": [1, *[2] * 7],
        "city": ["a", *"bbbbbb", "a"],
        "state": ["X", *"YYYYYY", "X"],
        "mark": [7, *range(6), 7],
    }
    rules = ["zip -> city", "zip -> state"]
    (line, _) = lines_of(table, rules)
    assert line.row == 7
    assert line.cells == (("zip", "2", "1", "the 1 row with city a and state X that stays says 1"),)
    (line, *_) = lines_of(table, [*rules, "unique(city, mark)"])  # which the city may break, and not the zip
    assert (line.row, line.cells) == (7, (("zip", "2", None, None),))


@pytest.mark.parametrize(
    ("rule", "rates", "expected"),
    [
        ("not (s.salary < t.salary and s.rate > t.rate)", [1, 2, 9, 4, 5], ("2 to 4", "50 or more")),
        (
            "not (s.salary < t.salary and s.rate >= t.rate)",
            [1, 2, 9, 4, 5],
            ("more than 2 and less than 4", "50 or more"),
        ),
        ("not (s.salary < t.salary and s.rate < t.rate)", [5, 4, 9, 3, 2], ("3 to 4", "10 or less")),
    ],
)
def test_an_order_names_both_cells_with_what_fits_all_rows_that_stay(
    rule: str, rates: list[int], expected: tuple[str, str]
) -> None:
    table = {"salary": [10, 20, 30, 40, 50], "rate": rates}
    (line,) = lines_of(table, rule)
    assert line.row == 2
    told = {cell.column: cell.support for cell in line.cells}
    assert told == {
        "rate": f"{expected[0]} fits all 4 rows that stay",
        "salary": f"{expected[1]} fits all 4 rows that stay",
    }


@given(st.data())
def test_every_value_of_an_interval_fits_and_none_beside_it(data: st.DataObject) -> None:
    operators = [data.draw(st.sampled_from(["<", "<=", ">", ">="])) for _ in range(2)]
    rule = f"not (s.g = t.g and s.a {operators[0]} t.a and s.b {operators[1]} t.b)"
    n = data.draw(st.integers(2, 7))
    rows = [{name: data.draw(st.integers(0, 1 if name == "g" else 5)) for name in "gab"} for _ in range(n)]
    table = pa.Table.from_pylist(rows)
    suspects = rf.suspects(table, rule)
    removed = {line.row for line in suspects}
    book = list(RuleBook.of(rule))
    for line in suspects:
        for cell in line.cells:
            stay = [row for at, row in enumerate(rows) if at not in removed]
            fits = set()
            for value in range(-1, 8):
                tried = pa.Table.from_pylist([*stay, {**rows[line.row], cell.column: value}])
                if not violations_of(tried, book):
                    fits.add(value)
            if cell.support is None:
                assert not fits, cell
                continue
            assert fits == {value for value in range(-1, 8) if _within(value, cell.support)}, cell


def _within(value: int, support: str) -> bool:
    """Whether a value is in the interval that a sentence tells."""
    told = support.partition(" fits")[0]
    if told == "any value":
        return True
    if told.startswith("only "):
        return value == int(told.removeprefix("only "))
    for ending, test in ((" or more", int.__ge__), (" or less", int.__le__)):
        if told.endswith(ending):
            return bool(test(value, int(told.removesuffix(ending))))
    if " to " in told:
        low, high = map(int, told.split(" to "))
        return low <= value <= high
    parts = told.split(" and ")
    return all(
        value > int(one.removeprefix("more than ")) if one.startswith("more") else value < int(one.split()[-1])
        for one in parts
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20), st.data())
def test_tuples_are_found_by_their_values(drawn: list[tuple[int, int, int]], data: st.DataObject) -> None:
    distinct = list(dict.fromkeys(drawn))
    columns = [np.array(side, np.int32) for side in zip(*distinct, strict=True)]
    index = TupleIndex.of(columns, [3, 4, 3], largest=data.draw(st.sampled_from([2**62, 5])))
    asked = [data.draw(st.tuples(*[st.integers(-1, 4)] * 3)) for _ in range(5)] + distinct
    found = index.look_up([np.array(side, np.int64) for side in zip(*asked, strict=True)])
    assert found.tolist() == [distinct.index(one) if one in distinct else -1 for one in asked]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20), st.data())
def test_rows_that_match_have_the_number_of_what_they_match(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5))
    columns = [np.array(side, np.int32) for side in zip(*drawn, strict=True)]
    rows, numbers, wanted = matching(
        np.arange(len(drawn)), columns, [np.array(side, np.int64) for side in zip(*asked, strict=True)]
    )
    assert rows.tolist() == [row for row, one in enumerate(drawn) if one in asked]
    for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
        for one, other in zip(asked, wanted.tolist(), strict=True):
            assert (drawn[row] == one) == (number == other)


@given(st.data())
@examples(300)
def test_suggested_values_never_break_a_rule_that_was_not_broken(data: st.DataObject) -> None:
    order = "not (s.a = t.a and s.b < t.b and s.c > t.c)"
    texts = ["a -> b", "a, c -> b", "b -> c", "unique(a, b, c)", order, "row(b <= c)", "not (s.b = 1 and s.a != t.a)"]
    chosen = RuleBook.of(data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=4, unique=True)))
    wheres = st.sampled_from([None, None, parse_condition("b != 1"), parse_condition("c < 2")])
    modes = st.sampled_from(list(Nulls))
    rules = [replace(rule, where=data.draw(wheres), nulls=data.draw(modes)) for rule in chosen]
    n = data.draw(st.integers(1, 10))
    cell = data.draw(st.sampled_from([st.integers(0, 2), st.none() | st.integers(0, 2)]))
    rows = [{name: data.draw(cell) for name in "abc"} for _ in range(n)]
    schema = pa.schema([(name, pa.int64()) for name in "abc"])
    lines = list(rf.suspects(pa.Table.from_pylist(rows, schema), rules))
    removed = {line.row for line in lines if line.removed}
    stay = [row for at, row in enumerate(rows) if at not in removed]
    for row in removed:
        given = {c.column: int(c.suggestion) for line in lines if line.row == row for c in line.cells if c.suggestion}
        for rule in rules:
            before = violations_of(pa.Table.from_pylist([*stay, rows[row]], schema), [rule])
            after = violations_of(pa.Table.from_pylist([*stay, rows[row] | given], schema), [rule])
            assert before or not after, (rule, rows[row], given)


def test_a_value_is_withheld_where_the_cell_on_the_left_may_as_well_be_wrong() -> None:
    codes, states = [1] * 8 + [2] * 8, ["X"] * 8 + ["Y"] * 8
    swapped = [*states[:7], "Y", *states[8:]]  # either state or code of row 7 is wrong
    (line,) = lines_of({"code": codes, "state": swapped}, "code -> state")
    assert [(line.row, cell.column, cell.suggestion) for cell in line.cells] == [(7, "state", None)]
    unheard = [*states[:7], "Xx", *states[8:]]  # a value that nobody else has is the wrong one
    (line,) = lines_of({"code": codes, "state": unheard}, "code -> state")
    assert [(line.row, cell.column, cell.suggestion) for cell in line.cells] == [(7, "state", "X")]
    names = [*"aaaaaaaabbbbbbbb"]  # another rule confirms the code
    (line,) = lines_of({"code": codes, "state": swapped, "name": names}, ["code -> state", "code -> name"])
    assert [(line.row, cell.column, cell.suggestion) for cell in line.cells] == [(7, "state", "X")]


def test_several_rows_that_one_left_hand_cell_explains_name_that_cell() -> None:
    codes = [1] * 8 + [2] * 8 + [3] * 8
    names, kinds = [*"aaaaaaaabbbbbbbbcccccccc"], [*"xxxxxxxxyyyyyyyyzzzzzzzz"]
    codes[3] = 2
    lines = lines_of({"code": codes, "name": names, "kind": kinds}, ["code -> name", "code -> kind"])
    told = {(line.row, cell.column, cell.suggestion) for line in lines for cell in line.cells}
    assert told == {(3, "code", "1")}
    assert lines[0].cells[0].support == "7 of 7 rows with kind x and name a that stay say 1"


def test_a_value_that_rests_on_one_that_is_withheld_is_withheld_too() -> None:
    columns: dict[str, list[Any]] = {"z": [5, 5, 3, 3, 5], "g": ["A", "A", "B", "B", "B"], "x": [2, 2, 6, 6, 1]}
    lines = lines_of(columns, ["z -> g", "g -> x"])
    assert {line.row for line in lines} == {4}
    assert {(cell.column, cell.suggestion) for line in lines for cell in line.cells} == {("g", None), ("x", None)}


def test_a_value_that_rests_on_one_that_no_line_tells_is_withheld() -> None:
    columns: dict[str, list[Any]] = {"zip": [1] * 7 + [2] * 6, "area": [1] * 7 + [2] * 6}
    columns |= {"city": [*"aaaaaaqbbbbbb"], "state": [*"XXXXXXZYYYYYY"]}
    rules = ["zip -> city", "area -> city"]
    told = {(cell.column, cell.suggestion) for line in lines_of(columns, rules) for cell in line.cells}
    assert told == {("city", "a")}
    # with city a the state is wrong too, and the rule that reads it does not blame the row as it is
    lines = lines_of(columns, [*rules, "city -> state"])
    assert {line.rule for line in lines} == {"zip_fixes_city", "area_fixes_city"}
    assert {(cell.column, cell.suggestion) for line in lines for cell in line.cells} == {("city", None)}


@pytest.mark.parametrize(("nulls", "agree"), [("sql", "7 of 7"), ("equal", "7 of 8")])
def test_nulls_speak_for_a_left_hand_cell_where_they_are_values(nulls: str, agree: str) -> None:
    codes = [1] * 3 + [2] + [1] * 4 + [2] * 8 + [3] * 8 + [None]
    names, kinds = [*"aaaaaaaabbbbbbbbcccccccca"], [*"xxxxxxxxyyyyyyyyzzzzzzzzx"]
    lines = lines_of({"code": codes, "name": names, "kind": kinds}, ["code -> name", "code -> kind"], nulls=nulls)
    told = {(line.row, *cell) for line in lines for cell in line.cells}
    assert told == {(3, "code", "2", "1", f"{agree} rows with kind x and name a that stay say 1")}


def test_a_value_that_fits_only_beside_one_that_is_withheld_is_withheld_too() -> None:
    columns: dict[str, list[Any]] = {"zip": [1] * 7 + [2] * 6}
    columns |= {"city": [*"aaaaaaqbbbbbb"], "state": [*"XXXXXXZYYYYYY"]}
    rules: list[dict[str, Any]] = [
        {"name": name, "fd": name.replace("_", " -> ")} for name in ("zip_city", "city_state")
    ]
    free = {"name": "zip_state", "fd": "zip -> state"}
    told = {(c.column, c.suggestion) for line in lines_of(columns, {"rules": [*rules, free]}) for c in line.cells}
    assert told == {("city", "a"), ("state", "X")}
    bound = free | {"where": "state is not null"}  # a new state may be one that the rule does not mean
    told = {(c.column, c.suggestion) for line in lines_of(columns, {"rules": [*rules, bound]}) for c in line.cells}
    assert told == {("city", None), ("state", None)}
