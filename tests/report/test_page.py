"""The pages of reports and discoveries in a real browser: what they show, what clicks do, what hostile data cannot."""

from __future__ import annotations

import csv
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import refute as rf
from browsing import Browser, browsing, missing
from refute.report.history import History

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "image": '"><img src=x onerror="window.hacked = 1">',
    "end": "</script></td></table><h1>owned</h1>",
    "turned": "\u202egnp.exe",
    "hebrew": "שלום עולם",
    "emoji": "👩‍👩‍👧 café 日本",
    "template": "{{ 7 * 7 }} {% raw %}",
    "long": "x" * 10_000,
}
WORDS = list(HOSTILE.values())

SAYS = """return [...document.querySelectorAll("table[data-source=suspects] tbody tr")]
    .map(row => [3, 4].map(at => row.cells[at].firstElementChild.innerHTML))"""


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[Browser]:
    with browsing(downloads) as found:
        yield found


def report_of(n: int = 40) -> rf.Report:
    drawn = random.Random(0)
    table = pa.table(
        {
            "id": pa.array(range(n)),
            "zip": pa.array([f"Z{i // 8}" for i in range(n)]),
            "city": pa.array(["good", *["good"] * (n - 9), *WORDS]),
            "pay": pa.array([drawn.randrange(1000) for _ in range(n)]),
            "rate": pa.array([drawn.random() for _ in range(n)]),
        }
    )
    rules = [
        {"name": "holds", "unique": "id"},
        {"name": "cities", "fd": "zip -> city", "description": f"One city. {HOSTILE['script']}"},
        {"name": f"order {HOSTILE['image']}", "dc": "not (s.zip = t.zip and s.pay > t.pay and s.rate < t.rate)",
         "severity": "warn"},
        {"name": "tolerated", "unique": "zip", "tolerance": {"rows": "100%"}},
    ]  # fmt: skip
    return rf.check(table, rf.RuleBook.of({"version": 1, "rules": rules}), key="id", name=f"{HOSTILE['end']}.csv")


def test_hostile_values_are_text_and_the_page_says_all(browser: Browser) -> None:
    browser.open(report_of().to_html(clashes=30))
    assert browser.complaints() == []
    assert browser.run("return window.hacked") is None
    assert browser.run("return document.querySelectorAll('img, iframe, link, h1').length") == 1
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    body = browser.run("return document.body.innerText")
    assert "1 rule failed and 1 rule warned (exit code 1)" in body
    assert HOSTILE["script"] in body
    assert HOSTILE["template"] in body
    assert HOSTILE["emoji"] in body
    assert HOSTILE["hebrew"] in body
    assert "x" * 300 not in body, "long cells are shortened"
    states = browser.texts(".rule .word")
    assert states == ["failed", "warning", "tolerated", "passed"], "failing rules come first, in words"
    assert len(browser.texts("svg title")) == 0
    assert browser.run("return document.querySelectorAll('svg[role=img][aria-label] > title').length") >= 3
    assert browser.run("return document.querySelectorAll('th:not([scope])').length") == 0
    levels = browser.run("return [...document.querySelectorAll('h1, h2, h3')].map(e => e.tagName)")
    assert levels[:2] == ["H1", "H2"]
    assert "mark" in browser.run("return document.querySelector('.clash').innerHTML")
    assert not browser.run("return document.querySelector('details').open"), "the formula is behind a fold"
    browser.click(".rule details summary")
    assert "¬" in browser.texts(".rule details[open] code")[0]


def test_the_page_filters_searches_and_sorts(browser: Browser) -> None:
    browser.open(report_of().to_html(clashes=30))
    before = len(browser.texts(".rule.error tbody.clash"))
    browser.click(".rule.error .more button")
    assert len(browser.texts(".rule.error tbody.clash")) > before
    browser.click('button[data-state="warn"]')
    assert browser.texts(".rule .word") == ["warning"]
    browser.click('button[data-state="warn"]')
    browser.type("#search", "onerror")
    assert browser.texts(".rule .word") == ["failed", "warning"], "a name, and a value among clashes"
    browser.type("#search", "nothing has this")
    assert browser.texts(".rule .word") == []
    assert browser.texts("#matches") == ["Nothing matches"]
    browser.type("#search", "")
    assert len(browser.texts(".rule .word")) == 4
    browser.run("const o = document.getElementById('order'); o.value = 'name'; o.dispatchEvent(new Event('change'))")
    assert [name[:5] for name in browser.texts(".rule h3")] == ["citie", "holds", "order", "toler"]
    browser.run("const o = document.getElementById('order'); o.value = 'state'; o.dispatchEvent(new Event('change'))")
    table = 'table[data-source="suspects"]'
    browser.click(f"{table} thead th:nth-child(7) button")
    numbers = [int(text.replace(",", "")) for text in browser.texts(f"{table} tbody td:nth-child(7)")]
    assert numbers == sorted(numbers)
    browser.click(f"{table} thead th:nth-child(7) button")
    assert (
        browser.run(f"return document.querySelector('{table} th[aria-sort]').getAttribute('aria-sort')") == "descending"
    )
    assert browser.complaints() == []
    assert browser.run("return window.hacked") is None, "nor does what the script shows"


def downloaded(browser: Browser, downloads: Path) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of the file that the page offers."""
    browser.click("#download")
    file, deadline = downloads / "suspects.csv", time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert file.read_bytes().startswith(b"\xef\xbb\xbf"), "by which spreadsheets know UTF-8"
    with open(file, encoding="utf-8-sig", newline="") as stream:
        head, *lines = csv.reader(stream)
    file.unlink()
    return head, lines


def test_the_suspects_are_downloaded_as_the_command_writes_them(browser: Browser, downloads: Path) -> None:
    report = report_of()
    browser.open(report.to_html())
    head, lines = downloaded(browser, downloads)
    written = report.suspects.to_arrow()
    assert head == ["row", "rule", "column", "value", "suggestion", "support", "violations", "clears"]
    columns = [written.column("id" if name == "row" else name).to_pylist() for name in head]
    wanted = [["" if cell is None else str(cell) for cell in line] for line in zip(*columns, strict=True)]
    assert sorted(lines) == sorted(wanted), "values whole, rules by their names, plain numbers"
    assert "x" * 10_000 in [line[3] for line in lines]


def test_of_two_rows_with_one_key_the_one_that_stays_is_said_to(browser: Browser, downloads: Path) -> None:
    browser.open(
        rf.check(pa.table({"id": [1, 2, 2]}), [{"rules": [{"name": "one (either)", "unique": "id"}]}]).to_html()
    )
    said = browser.texts("table[data-source=suspects] tbody td:nth-child(2)")
    assert sorted(said) == ["one (either) (either)", "one (either) (either; this row stays)"]
    _, lines = downloaded(browser, downloads)
    assert {line[1] for line in lines} == {"one (either)"}


def test_values_that_are_cut_for_want_of_room_are_said_to_be(browser: Browser, downloads: Path) -> None:
    table = pa.table({"zip": [i // 3 for i in range(300)], "city": [f"{i % 3 // 2}{'x' * 9000}" for i in range(300)]})
    report = rf.check(table, "zip -> city")
    browser.open(report.to_html())
    _, lines = downloaded(browser, downloads)
    assert max(len(line[3]) for line in lines) == 1000
    assert "values of at most 1,000 letters. --suspects F writes" in browser.run("return document.body.innerText")
    browser.open(report_of().to_html())
    assert "letters. --suspects F" not in browser.run("return document.body.innerText")


def test_no_spreadsheet_takes_a_value_for_a_formula(browser: Browser, downloads: Path) -> None:
    odd = ["=cmd|' /C calc'!A0", "@SUM(1)", "-2+cmd|x", "+49 (0)12", "-12.5", "-1e5", "a=b"]
    said = [value for one in odd for value in (one, *"ccc")]
    table = pa.table({"zip": [i // 4 for i in range(len(said))], "city": said})
    browser.open(rf.check(table, "zip -> city").to_html())
    _, lines = downloaded(browser, downloads)
    assert [line[3] for line in sorted(lines, key=lambda line: int(line[0]))] == [
        "'=cmd|' /C calc'!A0",
        "'@SUM(1)",
        "'-2+cmd|x",
        *odd[3:],
    ]


def test_paper_shows_what_a_click_would_and_says_of_how_many(browser: Browser) -> None:
    n = 900
    table = pa.table({"zip": [i // 6 for i in range(n)], "city": [f"C{i % 6 // 5}" for i in range(n)]})
    page = rf.check(table, "zip -> city").to_html()
    browser.open(page)
    clashes, suspects = ".rule tbody.clash", "table[data-source=suspects] tbody"
    assert (len(browser.texts(clashes)), len(browser.texts(suspects))) == (5, 10)
    browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert (len(browser.texts(clashes)), len(browser.texts(suspects))) == (20, 100)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.texts("#suspects-more .foot") == ["100 of 150"]
    assert browser.texts(".more button") == []
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.open(page)
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.texts(".more .foot") == ["10 of 150", "5 of 20"]
    assert browser.texts(".more button") == [], "nor is there one that does nothing without a script"


def test_what_cells_say_and_should_say_differs_to_the_eye(browser: Browser) -> None:
    said = ["Rome ", "Rome\u200b", "Ro" + "m" * 400 + "e", "\u0420ome", "", *["Rome!"] * 7]
    rows = [(zip_, "Rome") for zip_ in range(12) for _ in range(9)] + list(enumerate(said))
    table = pa.table({"zip": [zip_ for zip_, _ in rows], "city": [city for _, city in rows]})
    browser.open(rf.check(table, "zip -> city").to_html())
    before = browser.run(SAYS)
    browser.click("#suspects-more button")
    cells = browser.run(SAYS)
    assert cells[: len(before)] == before, "the script marks as the template does"
    assert len(before) < len(cells) == len(said)
    gap = "Rome<mark></mark>"
    assert cells[0] == ["Rome<mark>␣</mark>", gap]
    assert cells[1] == ["Rome<mark>&lt;U+200B&gt;</mark>", gap]
    assert cells[2][0].startswith("Rom<mark>mmm")
    assert cells[3] == ["<mark>\u0420&lt;U+0420&gt;</mark>ome", "<mark>R</mark>ome"]
    assert cells[4] == ["<mark></mark>", "<mark>Rome</mark>"]
    assert cells[11] == ["Rome<mark>!</mark>", gap]
    assert browser.complaints() == []


def test_the_rules_without_cards_are_searched_and_shown_too(browser: Browser) -> None:
    table = pa.table({f"{'c' * 40}{i}": [0, 0, i] for i in range(1, 41)})
    names = table.column_names
    report = rf.check(table, [f"{a} -> {b}" for a in names for b in names if a != b])
    browser.open(report.to_html())
    last = report.failing_first[-1].name
    assert browser.run(f"return document.querySelectorAll('section.rule[data-name=\"{last}\"]').length") == 0
    browser.type("#search", last)
    assert browser.texts("table[data-source=rest] tbody td:first-child") == [last]
    assert browser.complaints() == []


def test_ten_thousand_clashes_fit_into_two_megabytes(browser: Browser) -> None:
    n = 400
    table = pa.table(
        {"zip": ["Z"] * n, "city": [f"{WORDS[i % len(WORDS)]} {i}" for i in range(n)], "n": list(range(n))}
    )
    rules = ["zip -> city", "not (s.zip = t.zip and s.n < t.n and s.city != t.city)", "unique(zip)"]
    page = rf.check(table, rules).to_html(clashes=10_000)
    assert len(page.encode()) < 2_000_000
    browser.open(page)
    assert browser.complaints() == []
    assert browser.run("return document.querySelectorAll('.rule tbody.clash').length") < 50, "few are drawn at first"
    assert "of" in browser.texts(".rule .more .foot")[0]


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_need_not_scroll_sideways_and_dark_is_dark(browser: Browser, dark: bool) -> None:
    browser.open(report_of().to_html(), width=390, dark=dark)
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    colour = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(20, 25, 31)" if dark else "rgb(255, 255, 255)")


def test_a_phone_shows_what_suspects_should_say(browser: Browser) -> None:
    table = pa.table({"zip": [1, 1, 1, 2], "city": ["Fairdale", "Fairdale", "Faridale " + "x" * 99, "Oak"]})
    browser.open(rf.check(table, "zip -> city").to_html(), width=390)
    assert browser.texts('[data-head="should say"]') == ["Fairdale"]
    right = browser.run("return document.querySelector('[data-head=\"should say\"]').getBoundingClientRect().right")
    assert 0 < right <= 390
    lefts = "return [...document.querySelectorAll('.stacked mark')].map(mark => mark.getBoundingClientRect().left)"
    assert min(browser.run(lefts)) > 100, "marks are beside the names of cells, where the rest of the cell is"
    browser.click(".stacked thead button")
    assert min(browser.run(lefts)) > 100
    assert browser.texts('[data-head="should say"]') == ["Fairdale"], "sorting keeps the names of cells"


def test_a_part_leaves_the_style_of_a_notebook_alone(browser: Browser) -> None:
    outside = '<h1 id="a">x</h1><p>y</p><table><tr><th>a</th><td>b</td></tr></table><code>c</code><button>d</button>'
    asked = """return [...document.querySelectorAll('.outside *, body')].map(e => JSON.stringify(Object.fromEntries(
        [...getComputedStyle(e)].filter(n => !/height|width|block-size|inline-size|origin|perspective/.test(n))
        .map(n => [n, getComputedStyle(e)[n]]))))"""
    head = "<!doctype html><meta charset=utf-8><body style='max-width: 700px'>"
    browser.open(f"{head}<div class=outside>{outside}</div>")
    alone = browser.run(asked)
    report = report_of()
    parts = "".join(
        one._repr_html_() for one in (report, report.suspects, rf.propose(pa.table({"a": [1, 2], "b": [1, 2]})))
    )
    browser.open(f"{head}<div class=outside>{outside}</div>{parts}")
    assert browser.run(asked) == alone
    assert browser.run("return window.hacked") is None
    assert browser.run("return document.querySelectorAll('.refute-part script, .refute-part img').length") == 0
    assert len(browser.texts(".refute-part svg")) >= 3


def test_the_trend_of_a_history_is_drawn(browser: Browser, tmp_path: Path) -> None:
    history = History.of(tmp_path)
    for n in (40, 48, 56):
        report = report_of(n)
        history.add(report)
    browser.open(report.to_html(history=history))
    assert browser.run("return document.querySelectorAll('svg path.trend').length") == 4


def test_the_page_of_a_discovery_sorts_filters_and_copies_rules(browser: Browser, tmp_path: Path) -> None:
    n = 60
    table = pa.table(
        {
            "id": list(range(n)),
            "zip": [f"Z{i % 6}" for i in range(n)],
            "city": [WORDS[i % 6] if i else "odd" for i in range(n)],
            "state": [f"S{i % 3}" for i in range(n)],
            "<b>pay": [10 * i for i in range(n)],
        }
    )
    found = rf.propose(table)
    browser.open(found.to_html(name=HOSTILE["end"]))
    assert browser.complaints() == []
    assert browser.run("return window.hacked") is None
    kinds = browser.texts("tbody tr > td:nth-child(2)")
    assert kinds == [rule.kind for rule in found]
    worth = [float(text) for text in browser.texts("tbody tr > td:nth-child(6)")]
    assert worth == sorted(worth, reverse=True), "best first by the number beside it"
    browser.click("thead th:nth-child(2) button")
    assert browser.texts("tbody tr > td:nth-child(2)") == sorted(kinds)
    browser.click("thead th:nth-child(1) button")
    assert [int(text) for text in browser.texts("tbody tr > td:nth-child(1)")] == list(range(1, len(found) + 1))
    browser.click('button[data-state="functional dependency"]')
    chosen = [rule for rule in found if rule.kind == "functional dependency"]
    assert len(browser.texts("tbody tr")) == len(chosen) > 0
    browser.driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    browser.click("#copy-shown")
    deadline = time.monotonic() + 10
    while browser.texts("#copy-shown") != ["Copied"] and time.monotonic() < deadline:
        time.sleep(0.02)
    copied = browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    (tmp_path / "copied.yaml").write_text(copied, encoding="utf-8")
    book = rf.load_rules(tmp_path / "copied.yaml")
    assert len(book.entries) == len(chosen)
    assert rf.check(table, book).ok, "what is copied passes on the rows it was found in"
    browser.type("#search", "no column is called this")
    assert browser.texts("tbody tr") == []


@pytest.mark.parametrize("search", [rf.propose, rf.discover])
def test_the_page_of_a_discovery_says_of_what_and_when(
    tmp_path: Path, search: Callable[[object], rf.Discovery]
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("zip,city\n" + "".join(f"{i // 4},c{i // 4}\n" for i in range(40)))
    found = search(file)
    page = found.to_html()
    assert "<h1>Rules found in people.csv</h1>" in page, "and not in its path, which follows"
    moment = found.time.strftime("%Y-%m-%d %H:%M:%S UTC")
    assert f"{file}: 40 rows, {len(found)} rules; searched {moment} by Refute {rf.__version__}" in page
    assert "<h1>Rules found</h1>" in search(pa.table({"a": [1, 1], "b": [2, 2]})).to_html()


def test_a_search_for_every_rule_has_a_page_too(browser: Browser) -> None:
    found = rf.discover(pa.table({"a": [1, 1, 2], "b": [1, 1, 3], "c": [3, 1, 2]}), max_predicates=2)
    browser.open(found.to_html(n=3))
    assert len(browser.texts("tbody tr")) == min(3, len(found))
    assert "Copy as rule" in browser.texts("tbody button")[0]
    assert browser.complaints() == []
