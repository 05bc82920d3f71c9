"""Rules that nobody would write by hand: too deep, too long, too many. Each is an answer or one clear error, soon."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import refute as rf
from refute.errors import RefuteError, RuleError, shortened
from refute.language.formats import FORMATS, MAX_CHARACTERS, TableFacts, read_rules, write_rules
from refute.language.predicate import Constant
from refute.language.rulebook import RuleBook, RuleBookError
from refute.language.rulebook.advice import advise
from refute.language.rulebook.naming import distinct

RULES = "\nrules: [{name: a, fd: a -> b}]\n"
DIGITS = "9" * 5000


def bomb(levels: int, width: int) -> str:
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]\n" for i in range(1, levels + 1)]
    return "a0: &a0 [x]\n" + "".join(lines) + f"rules: *a{levels}\n"


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        (bomb(9, 9), "aliases here expand to more than 10 times the size of the file", 5),
        (bomb(30, 2), "aliases here expand to more than 10 times the size of the file", 14),
        (f"x: &x {'n' * 9000}\nrules: [{{name: a, unique: [{'*x, ' * 900} b]}}]", "aliases here expand to", 2),
        ("rules: " + "[" * 100_000, "nested deeper than 50 levels", 1),
        ("rules:\n" + "- " * 5000 + "x", "nested deeper than 50 levels", 2),
        ("".join(" " * i + "a:\n" for i in range(1200)), "nested deeper than 50 levels", 51),
        (f"version: {DIGITS}{RULES}", "more than 1000 digits", 1),
        (f"version: 0x{'F' * 9000}{RULES}", "more than 1000 digits", 1),
        (f"rules:\n- {{name: a, fd: a -> b, tolerance: {{rows: {DIGITS}}}}}", "more than 1000 digits", 2),
        (f"rules:\n- {{name: a, fd: a -> b, tolerance: {{rows: '{DIGITS}%'}}}}", "is not a limit", 2),
        (f"version: !!int abc{RULES}", "'abc' is not a whole number", 1),
        (f"version: !!float x{RULES}", "'x' is not a number", 1),
        (f"version: !!bool zz{RULES}", "'zz' is not a boolean", 1),
        (f"version: 2020-13-45{RULES}", "'2020-13-45' is not a date", 1),
    ],
)
def test_yaml_that_no_reader_could_follow_is_an_error_with_its_line(text: str, problem: str, line: int) -> None:
    with pytest.raises(RuleBookError, match=problem) as caught:
        read_rules(text, format="yaml")
    assert line in [found.line for found in caught.value.problems if problem in found.message]
    assert len(str(caught.value)) < 2000


def test_aliases_that_people_write_are_read() -> None:
    text = "rules:\n- {name: a, fd: a -> b, tags: &t [x, y]}\n- {name: b, fd: b -> c, tags: *t}\n"
    assert [rule.tags for rule in read_rules(text)] == [("x", "y")] * 2


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("nadeef", '{"rule": ' + "[" * 100_000, "nested too deeply"),
        ("weever", '{"constraints": ' + '[{"a":' * 50_000, "nested too deeply"),
        ("weever", '{"header": ["a"], "constraints": [' + DIGITS + "]}", "more than 1000 digits"),
        ("nadeef", '{"rule": [{"type": "cfd", "value": ["a | b", "' + DIGITS + ', _"]}]}', "more than 1000 digits"),
        ("nadeef", '{"rule": "' + '\\"' * 50_000, "A quote is opened here and never closed"),
        ("nadeef", '{"rule": [], "rule": [{"type": "fd", "value": ["a | b"]}]}', "The key 'rule' is written twice"),
        ("metanome", "¬(t0.a == 1e400)", "Line 1: .*1e400 is larger than any float"),
        ("text", "not (s.a = 1e400)", "Line 1: .*1e400 is larger than any float"),
        ("text", "row(a + 1 is not null)", "Line 1: .*Rows where 'a \\+ 1' is null break this"),
        ("holoclean", f"t1&t2&EQ(t1.a,{DIGITS})", "Line 1: .*more than 1000 digits"),
        ("holoclean", f"t1&EQ(t1.a,1.{DIGITS})", "Line 1: .*more than 1000 digits"),
        ("desbordante", f"!(s.a == {DIGITS})", "Line 1: .*more than 1000 digits"),
        ("metanome", f"¬(t0.a == 1.{DIGITS})", "Line 1: .*more than 1000 digits"),
        ("text", f"not (s.a = 1.{'9' * 100_000})", "Line 1: .*more than 1000 digits"),
        ("text", f"not (s.a = {'9' * 100_000})", "Line 1: .*more than 1000 digits"),
        ("text", "row(" + "(" * 3000 + "a = 1" + ")" * 3000 + ")", "Line 1: .*nested too deeply"),
        ("text", "x" * 1_000_001, "a rule may have at most 1,000,000"),
    ],
)
def test_other_formats_have_the_same_bounds(name: str, text: str, problem: str) -> None:
    with pytest.raises(RuleBookError, match=f"(?s){problem}") as caught:
        read_rules(text, format=name)
    assert len(str(caught.value)) < 2000


def test_a_file_longer_than_any_of_rules_is_refused() -> None:
    with pytest.raises(RuleBookError, match="more than 40,000,000 characters"):
        read_rules("a -> b\n" * (MAX_CHARACTERS // 7 + 1))


@pytest.mark.parametrize("number", [10**2000, -(10**2000), Decimal("1e99999"), Decimal("0." + "1" * 2000)])
def test_constants_have_no_more_digits_than_can_be_written(number: int | Decimal) -> None:
    with pytest.raises(RuleError, match="more than 1000 digits"):
        Constant(number)
    assert Constant(10**1000 - 1).value == 10**1000 - 1


def test_plain_data_has_the_bounds_of_files() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(RuleError, match="nested deeper than 50 levels"):
        rf.load_rules({"rules": endless})
    with pytest.raises(RuleError, match="more than 1000 digits"):
        rf.load_rules({"rules": [{"name": "a", "fd": "a -> b", "tolerance": {"rows": 10**5000}}]})
    level: list[object] = ["x"]
    for _ in range(40):
        level = [level, level]
    with pytest.raises(RuleBookError):
        rf.load_rules({"rules": level})


def ends(action: Callable[[], object]) -> bool:
    """Whether an action ends, be it in one of our errors: within ten times the CPU seconds that it should take at most.

    What these tests are about took minutes or never ended, so this is no measurement.
    """
    start = time.process_time()
    with contextlib.suppress(RefuteError):
        action()
    return time.process_time() - start < 10


N = 1000
SHAPES = {
    "columns apart": [f"s.c{i} < t.c{i}" for i in range(N)],
    "a chain": [f"s.c{i} <= t.c{i + 1}" for i in range(N)],
    "constants": [f"s.a != {i}" for i in range(N)],
    "bounds": [f"s.a <= {i}.5" for i in range(N)],
    "a ladder": [f"s.{a}{i} <= s.{b}{i + 1}" for i in range(N // 3) for a, b in ("aa", "bb", "ab")],
    "twenty columns": [f"s.c{i % 20} {'<=' if i % 3 else '!='} t.c{i * 7 % 20}" for i in range(N)],
    "one and the same": ["s.a = t.a"] * N,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thousand_comparisons_are_no_burden(shape: str) -> None:
    text = f"not ({' and '.join(SHAPES[shape])})"
    assert ends(lambda: rf.parse(text))
    book = RuleBook.of(text)
    assert ends(lambda: advise(book))
    for name, one in FORMATS.items():
        assert ends(lambda name=name: write_rules(book, name))  # type: ignore[misc]
        if one.read is not None:
            assert ends(lambda name=name: read_rules(write_rules(book, name), format=name))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metanome", f"¬(t0.a == t1.a{' ' * 100_000}^ t0.b == t1.b)"),
        ("metanome", f"¬(t0.a{' ' * 100_000}b == t1.a)"),
        ("desbordante", f"!(s.a == t.a{' ' * 100_000}∧ s.b == t.b)"),
        (None, "\n" * 20_000 + "a -> b"),
        (None, "(" + " " * 100_000 + "x"),
    ],
)
def test_blanks_are_no_burden(name: str | None, text: str) -> None:
    assert ends(lambda: read_rules(text, format=name))


def test_many_rules_are_no_burden() -> None:
    assert ends(lambda: read_rules("a -> b\n" * 3000, format="text"))
    assert ends(lambda: read_rules("".join(f"a -> {i}\n" for i in range(2000)), format="text"))
    book = RuleBook.of([f"not (s.a = t.a and s.b = {i})" for i in range(200)])
    assert ends(lambda: advise(book))
    assert "were not compared with the others" in advise(book)[-1].message


def test_names_that_repeat_are_numbered_on() -> None:
    assert distinct(["a", "a", "a_2", "a", "b", "a"], ["a_4"]) == ["a", "a_2", "a_2_2", "a_3", "b", "a_5"]


def test_errors_are_no_longer_than_a_reader_could_follow() -> None:
    long = "x" * 100_000
    assert len(str(RuleError(long))) < 600
    assert shortened(long).startswith("xxx")
    assert " ... (99,5" in shortened(long)
    lines = "\n".join(map(str, range(5000)))
    assert shortened(lines).endswith("\n99\n... and 4,900 more lines")
    assert shortened("as it\nis") == "as it\nis"


def test_a_header_given_as_many_names_is_no_file_name() -> None:
    from refute.cli.files.convert import read_header

    names = tuple(f"column{i}" for i in range(1000))
    assert read_header(",".join(names)) == TableFacts(names, (None,) * 1000)


@pytest.mark.parametrize("form", ["r.json", "r.yaml"])
def test_characters_spelled_as_two_halves_are_one_and_a_half_alone_is_a_mistake(tmp_path: Path, form: str) -> None:
    file = tmp_path / form
    file.write_text(
        '{"rules": [{"name": "good \\ud83d\\udc4d", "fd": "a -> b", "tags": ["\\ud83d\\udc4d"]}]}', encoding="utf-8"
    )
    (rule,) = rf.load_rules(file)
    assert (rule.name, rule.tags) == ("good \U0001f44d", ("\U0001f44d",))
    assert rf.check(pa.table({"a": [1], "b": [1]}), [rule]).to_arrow()["rule"].to_pylist() == ["good \U0001f44d"]
    for text in ('{"name": "x \\ud83d", "fd": "a -> b"}', '{"name": "x", "one_of": {"a": ["\\udc4d"]}}'):
        file.write_text(f'{{"rules": [{text}]}}', encoding="utf-8")
        with pytest.raises(RuleError, match="half a character"):
            rf.load_rules(file)
    for text in ('{"name": "\\ud83d", "fd": "a -> b"}', '{"name": "x", "fd": "a -> b", "description": "\\ud83d"}'):
        file.write_text(f'{{"rules": [{text}]}}', encoding="utf-8")
        with pytest.raises(RuleBookError) as caught:
            rf.load_rules(file)
        assert len(caught.value.problems) == 1, "one mistake is one, and not an empty text too"
    with pytest.raises(RuleError, match="half a character"):
        rf.RuleBook.of({"rules": [{"name": "x\ud83d", "fd": "a -> b"}]})
    with pytest.raises(RuleError, match="half a character"):
        rf.parse("not (s.a = '\ud83d')")
