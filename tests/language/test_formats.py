"""Rules of other tools: read, written, read again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.errors import OptionError
from refute.language.formats import FORMATS, FormatError, TableFacts, detect, read_rules, write_rules
from refute.language.parsing.parser import parse
from refute.language.rulebook import RuleBook, RuleBookError
from refute.language.rulebook.reading.load import load_rules
from strategies import KINDS, NAMES, rules

_CHOSEN = [KINDS[i] for i in (0, 3, 5, 7, 8, 9, 10, 11, 13, 8)]
CONSTRAINTS = rules(dict(zip(NAMES, _CHOSEN, strict=True))) | rules(dict(zip("abcdefghij", _CHOSEN, strict=True)))
FOUND = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "constraints"
ZIP = "not (s.zip = t.zip and s.city != t.city)"
SAMPLES: dict[str, tuple[str, list[str]]] = {
    "holoclean": (
        "t1&t2&EQ(t1.zip,t2.zip)&IQ(t1.city,t2.city)\n\n# remark\nt1&EQ(t1.sex,\"female\")&EQ(t1.role,'husband')\n"
        "t1&t2&GT(t1.a,t2.a)&LTE(t1.b,t2.c)&GTE(t1.d,5)",
        [ZIP, "not (s.sex = 'female' and s.role = 'husband')", "not (s.a > t.a and s.b <= t.c and s.d >= 5)"],
    ),
    "desbordante": (
        "!(s.zip == t.zip and s.city != t.city)\n! ( t.Tax Rate >= 0.5 and t.State == New York )\n"
        "¬{ t.zip == s.zip ∧ t.city != s.city }\n!(t.a < s.b)",
        [ZIP, "not (s.`Tax Rate` >= 0.5 and s.State = 'New York')", ZIP, "not (s.b > t.a)"],
    ),
    "metanome": (
        "¬(t0.zip(String) == t1.zip(String) ^ t0.city(String) <> t1.city(String))\n"
        "[DC: t0.Provider Number(String) == t1.Provider Number(String)  t0.a(Integer) <= t1.b(Integer)  ]\n"
        "¬{t0.zip = t1.zip ∧ t0.city ≠ t1.city}\n¬[t0.a(Double) > t0.b(Double)]",
        [ZIP, "not (s.`Provider Number` = t.`Provider Number` and s.a <= t.b)", ZIP, "not (s.a > s.b)"],
    ),
    "nadeef": (
        """{"source": {"type": "csv", "file": ["x.csv"]}, "rule": [
            {"name": "one", "type": "dc", "value": ["not(t1.zip=t2.zip&t1.city!=t2.city)"]},
            {"name": "two", "type": ["fd"], "table": ["x"], "value": "zip|city, state"},
            {"type": "cfd", "value": ["cc, zip | street", "44,_,_", "_, x1, High St"]},
            {"name": "three", "type": "dc", "value": ["not(t1.a>t1.b&t1.b=2)"],},
        ]}""",
        [
            ZIP,
            ZIP,
            "not (s.zip = t.zip and s.state != t.state)",
            "not (s.cc = 44 and s.cc = t.cc and s.zip = t.zip and s.street != t.street)",
            "not (s.zip = 'x1' and s.street != 'High St')",
            "not (s.a > s.b and s.b = 2)",
        ],
    ),
    "weever": (
        """{"csvPath": "tax.csv", "keyColumns": [0], "types": [], "header": ["id", "zip", "city", "a"], "constraints": [
            [{"colIdx1": 1, "colIdx2": 1, "op": "EQUAL"}, {"colIdx1": 2, "colIdx2": 2, "op": "UNEQUAL"}],
            [{"colIdx1": 3, "colIdx2": 0, "op": "GREATER_EQUAL"}]]}""",
        [ZIP, "not (s.a >= t.id)"],
    ),
    "text": (f"{ZIP}\nzip -> city\nunique(id)", [ZIP, ZIP, "not (s.id = t.id)"]),
    "yaml": ("rules:\n  - {name: a, fd: zip -> city}", [ZIP]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_each_format_is_known_by_its_content_and_read(name: str) -> None:
    text, expected = SAMPLES[name]
    assert detect(text).name == name
    book = read_rules(text)
    assert [rule.constraint for rule in book] == [parse(rule) for rule in expected]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_format_reads_it_also_writes(name: str) -> None:
    book = read_rules(SAMPLES[name][0])
    if name == "holoclean":
        book = RuleBook.of([rule for rule in book if "d" not in rule.constraint.columns])
    written = write_rules(book, name)
    assert detect(written).name == name
    again = read_rules(written)
    assert [rule.constraint for rule in again] == [rule.constraint for rule in book]
    assert again.dataset == book.dataset
    if name in ("nadeef", "yaml"):
        assert again.names == book.names


@pytest.mark.parametrize("name", [name for name, item in FORMATS.items() if item.read is not None])
@given(found=st.lists(CONSTRAINTS, min_size=1, max_size=3))
def test_every_format_reads_what_it_wrote_or_says_why_it_cannot_write(name: str, found: list[Any]) -> None:
    written = written_or_refused(RuleBook.of(found), name)
    if isinstance(written, FormatError):
        assert all(re.match("Rule .* cannot be written as ", problem.message) for problem in written.problems)
        return
    assert [set(rule.constraint.predicates) for rule in read_rules(written, format=name)] == [
        set(one.predicates) for one in found
    ]


def written_or_refused(book: RuleBook, name: str) -> str | FormatError:
    try:
        return write_rules(book, name)
    except FormatError as error:
        return error


def write_alone(rule: str, name: str) -> str:
    return write_rules(RuleBook.of(rule), name)


@pytest.mark.parametrize(
    ("name", "rule", "reason"),
    [
        ("holoclean", "not (s.age > 5)", "Constants are text in this format, and 5 is not"),
        ("holoclean", "not (s.`a,b` = t.`a,b`)", "The column 'a,b' has a separator in its name"),
        ("holoclean", "not (s.`` = t.``)", "A column has no name"),
        ("holoclean", "not (s.a = 'x & y')", "The constant 'x & y' has a quote, comma, &"),
        ("desbordante", "not (s.zip = '02' and s.n = '5')", "the constant '5' would not be read back as a str"),
        ("desbordante", "not (s.`a and b` = t.`a and b`)", "The column 'a and b' would be split"),
        (
            "desbordante",
            "not (s.a >= 'v & w' and s.b = t.b)",
            "The constant 'v & w' would be split, because constants have",
        ),
        ("desbordante", "not (s.a = '' and s.b = t.b)", "The constant '' is empty"),
        ("desbordante", "not (s.a = 't.x')", "would be read as a column"),
        ("metanome", "not (s.`x(String)` = t.`x(String)`)", "would be split"),
        ("metanome", "not (s.a = true)", "the constant True would not be read back as a bool"),
        ("nadeef", "not (s.`Zip Code` = t.`Zip Code`)", "The column 'Zip Code' is not made of letters"),
        ("nadeef", "not (s.day > date '2020-01-01')", "Constants must be plain numbers or text"),
        ("weever", "not (s.a = t.a and s.b > 5)", "It has a predicate about one row"),
        ("text", "not (s.a = 'x\ny')", "line break"),
    ],
)
def test_a_format_says_which_rule_it_has_no_words_for_and_why(name: str, rule: str, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        write_alone(rule, name)
    (problem,) = caught.value.problems
    assert problem.message.startswith("Rule '")
    assert f"cannot be written as {FORMATS[name].title}: " in problem.message
    assert reason in problem.message


@pytest.mark.parametrize("name", ["holoclean", "desbordante", "metanome", "nadeef", "weever", "text"])
def test_what_restricts_a_rule_is_never_dropped_in_silence(name: str) -> None:
    for option, said in (({"where": "c > 5"}, "It has a `where`"), ({"nulls": "equal"}, "It has `nulls: equal`")):
        book = load_rules({"rules": [{"name": "mine", "fd": "a -> b", **option}]})
        with pytest.raises(FormatError, match=f"Rule 'mine' cannot be written as .*: {said}"):
            write_rules(book, name)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("holoclean", "t1&t2&EQ(t1.a,t2.a)\nt1&t2&EX(t1.a,t2.a)", 2, "Unknown operator 'EX'. Choose from EQ, IQ,"),
        ("holoclean", "EQ(t1.a,t2.a)", 1, "begins with one or two tuple names"),
        ("holoclean", "t1&t2&EQ(t1.a,t3.a)", 1, "'t3.a' is neither a column of t1 or t2 nor a constant in quotes"),
        ("holoclean", "t1&t2", 1, "No predicate follows"),
        ("desbordante", "!(s.a t.a)", 1, "Expected an operator"),
        ("desbordante", "s.a == t.a", 1, "Expected a negation in brackets"),
        ("metanome", "¬(t0.a == t2.a)", 1, "Expected two row variables"),
        ("metanome", "¬(1 == 2)", 1, "compares two constants"),
        (
            "nadeef",
            '{"rule": [{"name": "u", "type": "udf", "value": ["x.Y"]}]}',
            None,
            "Rule 'u': 'udf' rules are not",
        ),
        ("nadeef", '{"rule": [{"type": "fd", "value": "a, b"}]}', None, "Expected columns as in 'zip | city, state'"),
        ("nadeef", '{"rule": []}', None, "no rule in this NADEEF JSON text"),
        ("nadeef", '{"rule": [}', 1, "not NADEEF JSON"),
        ("weever", '{"constraints": [[]], "header": ["a"]}', None, "Constraint 1: Expected a list of predicates"),
        ("weever", '{"constraints": []}', None, "Give the header"),
        ("weever", '{"rule": []}', None, "Expected a list under constraints"),
        ("weever", '{"constraints": [], "header": 5}', None, "Expected a list under header"),
        ("text", "zip -> city\nzip -> ", 2, "Expected a column name"),
    ],
)
def test_text_that_breaks_its_format_is_reported_with_line_and_reason(
    name: str, text: str, line: int | None, message: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read_rules(text, format=name)
    assert [(problem.line, message in problem.message) for problem in caught.value.problems] == [(line, True)]


def test_all_bad_lines_are_reported_together() -> None:
    with pytest.raises(FormatError) as caught:
        read_rules("t1&t2&EQ(t1.a,t2.a)\nt1&nonsense\n\nt1&t2&EQ(t1.a)", format="holoclean")
    assert [problem.line for problem in caught.value.problems] == [2, 4]


def test_weever_takes_its_names_and_types_from_a_header() -> None:
    data = json.loads(SAMPLES["weever"][0])
    del data["header"]
    header = TableFacts(("k", "x", "y", "z"), ("INTEGER", None, None, None))
    book = read_rules(json.dumps(data), table=header)
    assert book[0].constraint == parse("not (s.x = t.x and s.y != t.y)")
    assert book.dataset.key == ("k",)
    written = json.loads(write_rules(book, "weever", table=header))
    assert written["header"] == ["k", "x", "y", "z"]
    assert written["types"] == ["INTEGER", "STRING", "STRING", "FLOAT"]
    with pytest.raises(FormatError, match="column 'z' is not in the header"):
        write_rules(book, "weever", table=TableFacts(("k", "x", "y")))


def test_formats_that_do_not_exist_are_named_with_the_nearest() -> None:
    with pytest.raises(OptionError, match="Did you mean 'holoclean'"):
        read_rules("x", format="hololean")


@pytest.mark.skipif(
    not FOUND.is_dir(), reason=f"the rule files found in the wild are not beside this checkout ({FOUND})"
)
def test_all_rule_files_found_in_the_wild_load_whole() -> None:
    files = sorted(FOUND.glob("*.txt"))
    assert files
    for path in files:
        rules = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        book = load_rules(path)
        assert len(book) == len(rules), path.name
        assert RuleBook.of(path) == book
        again = load_rules(book.to_yaml())
        assert again.names == book.names
        assert [rule.constraint.canonical() for rule in again] == [rule.constraint.canonical() for rule in book]


def verify_with_desbordante() -> Callable[[str], bool]:
    desbordante = pytest.importorskip("desbordante")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"Zip Code": [1, 1, 2], "city": ["x", "y", "y"], "pay": [1.5, 2.5, 3.5]})
    verifier = desbordante.dc_verification.algorithms.Default()
    verifier.load_data(table=table)

    def holds(text: str) -> bool:
        verifier.execute(denial_constraint=text.strip())
        return bool(verifier.dc_holds())

    return holds


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("`Zip Code` -> city", False),
        ("unique(pay)", True),
        ("order(`Zip Code` asc, pay asc)", True),
        ("not (s.city = 'y' and s.pay > 3.0)", False),
        ("not (s.city = 'y' and s.pay < 2.0)", True),
    ],
)
def test_desbordante_itself_reads_what_we_write(rule: str, expected: bool) -> None:
    holds = verify_with_desbordante()
    assert holds(write_alone(rule, "desbordante")) is expected


def test_sql_lists_the_violations_of_each_rule() -> None:
    duckdb = pytest.importorskip("duckdb")
    rules = [
        {"name": "zips", "fd": "zip -> city", "description": "One zip,\none city."},
        {"name": "pay", "row": "pay > 0", "where": "city = 'y'"},
        {"name": "known", "unique": "city", "nulls": "equal"},
    ]
    book = load_rules({"dataset": {"key": "id"}, "rules": rules})
    written = write_rules(book, "sql", table=TableFacts(name="the table"))
    assert written.startswith("-- zips: One zip, one city.\nSELECT ")
    queries = [query for query in written.split(";\n") if query.strip()]
    with duckdb.connect() as base:
        base.execute('CREATE TABLE "the table" (id INT, zip INT, city TEXT, pay INT)')
        base.execute(
            "INSERT INTO \"the table\" VALUES (1, 5, 'x', 0), (2, 5, 'y', -1), (3, 6, NULL, 1), (4, 7, NULL, 1)"
        )
        found = [sorted(base.execute(query).fetchall()) for query in queries]
    assert found == [[(1, 2), (2, 1)], [(2,)], [(3, 4), (4, 3)]]
    assert "`zip`" in write_rules(book, "spark-sql")
    with pytest.raises(OptionError, match="SQL can be written, but not read"):
        read_rules(written, format="sql")


def test_columns_by_number_get_their_names_from_a_header() -> None:
    text = "!(s.0 == t.0 and s.2 < t.1 and s.zip != 5)\n"
    book = load_rules(text, header=["id", "zip", "city"])
    assert str(book[0].constraint) == "not (s.id = t.id and s.city < t.zip and s.zip != 5)"
    assert str(load_rules(text)[0].constraint) == "not (s.`0` = t.`0` and s.`2` < t.`1` and s.zip != 5)"
    named = load_rules("!(s.1 == t.1)", header=["1", "zip"])  # a name is a name, be it a number
    assert str(named[0].constraint) == "not (s.`1` = t.`1`)"


@pytest.mark.parametrize("number", ["3", "9" * 5000])
def test_a_number_beyond_the_header_is_an_error_with_its_line(number: str) -> None:
    with pytest.raises(RuleBookError, match=r"Line 2: .*There is no column .*: the header has 3, numbered from 0"):
        load_rules(f"!(s.0 == t.0)\n!(s.{number} == t.0)\n", format="desbordante", header=["id", "zip", "city"])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{"rule": [}', 1, r"A value is missing \(at character 11 of the line\)"),
        ('{"rule": [\n1 2]}', 2, r"A comma or a closing bracket is missing \(at character 3"),
        ('{"rule": [], 5}', 1, "A name in double quotes is missing"),
        ('{"rule" []}', 1, "A colon is missing after a name"),
        ('{"rule": [],} x', 1, r"There is more text after the end \(at character 15"),
        ('{"rule": ["a]}', 1, "A quote is opened here and never closed"),
        ('{"rule": ["a\nb"]}', 1, "a line break or another character that must be written"),
        ('{"rule": ["\\x"]}', 1, r"JSON does not allow what follows a \\"),
    ],
)
def test_mistakes_in_json_are_said_in_words(text: str, line: int, said: str) -> None:
    with pytest.raises(FormatError, match=said) as raised:
        read_rules(text, format="nadeef")
    assert [problem.line for problem in raised.value.problems] == [line]
