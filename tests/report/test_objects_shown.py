"""What public objects say of themselves: one short line, and a table in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refute as rf
from refute.cli.app import run

TABLE = pa.table({"id": list(range(30)), "zip": ["1"] * 29 + ["2"], "city": ["<b>x"] * 28 + ["y\x1b[31m", "z"]})
RULES = ["zip -> city", "unique(id)"]


def monitor() -> rf.Monitor:
    found = rf.Monitor(RULES[:1], key="id")
    found.insert(TABLE)
    return found


OBJECTS: dict[str, Callable[[], Any]] = {
    "report": lambda: rf.check(TABLE, RULES, key="id"),
    "result": lambda: next(iter(rf.check(TABLE, RULES))),
    "book": lambda: rf.RuleBook.of(RULES),
    "plan": lambda: rf.explain(TABLE, RULES),
    "violations": lambda: rf.violations(TABLE, RULES[0]),
    "verdict": lambda: rf.verify(TABLE, RULES[0]),
    "holds": lambda: rf.verify(TABLE, RULES[1]),
    "constraint": lambda: rf.parse("not (s.zip = t.zip and s.city != t.city)"),
    "monitor": monitor,
    "changes": lambda: monitor().delete([28]),
    "rule changes": lambda: rf.Tracker(TABLE, key="id", max_predicates=2).delete([28, 29]),
    "tracker": lambda: rf.Tracker(TABLE, key="id", max_predicates=2),
    "rule": lambda: rf.RuleBook.of(RULES)[0],
    "proposal": lambda: rf.propose(TABLE).rules[0],
    "discovered rule": lambda: rf.discover(TABLE, max_predicates=2).rules[0],
    "suspects": lambda: rf.suspects(TABLE, RULES),
    "proposals": lambda: rf.propose(TABLE),
    "discovery": lambda: rf.discover(TABLE, max_predicates=2),
}
SINGLE = ("result", "verdict", "holds", "constraint", "rule", "proposal", "discovered rule")
TABLES = tuple(name for name in OBJECTS if name not in SINGLE)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "input", "circle", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("circle", "rect", "path"):
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", OBJECTS)
def test_it_says_in_one_short_line_what_it_is(name: str) -> None:
    found = OBJECTS[name]()
    said = repr(found)
    assert len(said) < 160
    assert "\n" not in said
    assert " object at " not in said
    assert "\x1b" not in f"{said}{found}"
    shown = found._repr_html_()
    assert shown.startswith('<div class="refute refute-part">')
    tags = _Tags()
    tags.feed(shown)
    assert tags.open == []
    assert "b" not in tags.seen or name == "report", "values are text"
    assert "table" in tags.seen
    assert len(shown) < 60_000
    if name in TABLES:
        frame = found.to_pandas()
        assert frame.shape[1] >= 2


def test_a_rule_is_its_name_and_what_it_says() -> None:
    book = rf.RuleBook.of(RULES)
    assert repr(book[0]) == "Rule('zip_fixes_city': 'zip -> city', error)"
    proposed = rf.load_rules({"rules": [{"name": "a\nb", "row": "id > 0", "status": "proposed"}]})
    assert repr(proposed[0]) == "Rule('a\\nb': 'id > 0', warn, proposed)"


def test_objects_that_hold_many_iterate() -> None:
    for found in (rf.check(TABLE, RULES), rf.RuleBook.of(RULES), rf.explain(TABLE, RULES)):
        assert len(list(found)) == len(found) == 2
    assert len(list(rf.propose(TABLE))) == len(rf.propose(TABLE))


def test_changes_are_one_table_of_what_came_and_went() -> None:
    found = monitor()
    gone = found.delete([28]).to_pandas()
    assert set(gone["change"]) == {"removed"}
    assert len(gone) == 56
    assert found.insert([{"id": 99, "zip": "3", "city": "q"}]).to_arrow().num_rows == 0


def test_the_command_writes_the_page_of_a_discovery(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n" + "".join(f"{i % 5},{i % 5}\n" for i in range(40)), encoding="utf-8")
    assert run(["discover", str(file), "--engine", "local", "-q", "--html", str(tmp_path / "p.html")]) == 0
    assert "Copy as rule" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_every_public_object_gives_frames_and_tables_are_iterated() -> None:
    pytest.importorskip("pandas")
    classes = {name: getattr(rf, name) for name in rf.__all__ if isinstance(getattr(rf, name), type)}
    assert [name for name, one in classes.items() if not hasattr(one, "_repr_html_")] == []
    assert [name for name, one in classes.items() if not hasattr(one, "to_pandas")] == ["DenialConstraint"]
    verdict = rf.verify(TABLE, RULES[0], key="id")
    assert verdict.to_pandas().to_dict("list") == {"role": ["s", "t"], "row": [*(verdict.witness or ())]}
    assert len(rf.verify(TABLE, RULES[1]).to_pandas()) == 0
    changes = monitor().delete([28])
    lines = list(changes)
    assert len(lines) == changes.n_removed["zip_fixes_city"] == 56
    assert {line[:2] for line in lines} == {("zip_fixes_city", "removed")}
    assert all(28 in line[2:4] for line in lines)
