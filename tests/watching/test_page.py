"""The page of a watch: what a browser shows of it while batches come, and that nothing else is served."""

from __future__ import annotations

import http.client
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import refute as rf
from browsing import browsing, missing
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.cli.watch.serving import PageServer, address_of
from refute.errors import OptionError
from refute.language.rulebook import RuleBook
from refute.watching.watcher import Watcher, WatchOptions


def take(watcher: Watcher, batch: int, city: str) -> None:
    """A batch of one row that clashes with others."""
    watcher.take(batch, None, pa.table({"id": [batch], "zip": ["94110"], "city": [city]}))


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    options = WatchOptions(tuple(RuleBook.of("zip -> city")), ("id",))
    found = Watcher.open(tmp_path / "kept", options)
    for batch, city in enumerate(["Oakland", "Oakland", "<b>Berkeley</b>"]):
        take(found, batch, city)
    yield found
    found.close()


@pytest.fixture
def server(watcher: Watcher) -> Iterator[PageServer]:
    found = PageServer(rf.Watch(watcher.places.folder), *address_of("0"))
    yield found
    found.close()


def asked(server: PageServer, method: str = "GET", path: str = "/", host: str | None = None) -> tuple[int, str]:
    """The status and text of an answer."""
    port = int(server.address.rstrip("/").rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_only_the_page_is_served_and_only_to_this_machine(server: PageServer, watcher: Watcher) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    status, text = asked(server)
    assert status == 200
    assert "zip_fixes_city" in text
    assert "<b>Berkeley" not in text
    assert text.index("violations now, 0 on") > 0
    assert asked(server, host="evil.example")[0] == 403
    assert asked(server, path="/../state/manifest.json")[0] == 404
    assert asked(server, "POST")[0] == 501
    assert asked(server, "HEAD") == (200, "")
    take(watcher, 3, "Alameda")
    assert "Alameda" in asked(server)[1]
    for wrong in ("x", "host:", "70000"):
        with pytest.raises(OptionError, match="Give a port such as 8080"):
            address_of(wrong)
    with pytest.raises(OptionError, match="in use"):
        PageServer(rf.Watch(watcher.places.folder), *address_of(server.address.rstrip("/").rpartition(":")[2]))


@pytest.mark.parametrize(("hidden", "values"), [(("city",), True), ((), False)])
def test_a_page_keeps_hidden_values_to_itself(
    server: PageServer, watcher: Watcher, hidden: tuple[str, ...], values: bool
) -> None:
    open_page = rf.Watch(watcher.places.folder).page()
    assert "Oakland" in open_page
    assert "94110" in open_page
    found = PageServer(rf.Watch(watcher.places.folder), *address_of("0"), hidden, values=values)
    try:
        status, text = asked(found)
        assert found.version() != server.version(), "a browser that shows values asks for the page again"
    finally:
        found.close()
    assert status == 200
    assert "***" in text
    assert "Oakland" not in text
    assert "Berkeley" not in text
    assert ("94110" in text) is values


def test_a_masked_column_that_no_page_shows_is_an_error(watcher: Watcher, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(watcher.places.folder)
    assert run(["watch", "--state", folder, "--serve", "0", "--mask", "citi"]) == Exit.FAILED
    said = "--mask names 'citi', which neither the rules nor the key have. Their columns are 'id', 'zip', 'city'"
    assert said in capsys.readouterr().err


def test_newest_clashes_come_first(watcher: Watcher) -> None:
    take(watcher, 3, "Alameda")
    clashes = list(
        rf.Watch(watcher.places.folder).live_engine(newest_first=True).clashes(watcher.state.rules[0], 1).rows()
    )
    assert {row.row_id for row in clashes[0]} & {3}


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_browser_shows_batches_as_they_come_whether_the_stream_runs_or_not(
    server: PageServer, watcher: Watcher, tmp_path: Path
) -> None:
    with browsing(tmp_path) as browser:
        browser.driver.get(server.address)
        assert any("zip_fixes_city" in text for text in browser.texts("h2, h3, .head"))
        assert any("Berkeley" in text for text in browser.texts("mark, td"))
        take(watcher, 3, "Alameda")
        watcher.close()
        deadline = time.monotonic() + 60
        while not any("Alameda" in text for text in browser.texts("td")):  # it asks again by itself
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert not [line for line in browser.complaints() if "favicon" not in line]


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_page_stays_while_nobody_serves_it_and_goes_on_after_that(
    server: PageServer, watcher: Watcher, tmp_path: Path
) -> None:
    def until(seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not seen():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    with browsing(tmp_path) as browser:
        browser.driver.get(server.address)
        assert not browser.texts("#unanswered")
        server.close()
        until(lambda: bool(browser.texts("#unanswered")))
        assert "No answer since" in browser.texts("#unanswered")[0]
        assert any("Berkeley" in text for text in browser.texts("td"))
        take(watcher, 3, "Alameda")
        again = PageServer(rf.Watch(watcher.places.folder), *address_of(server.address.rstrip("/").rpartition(":")[2]))
        until(lambda: any("Alameda" in text for text in browser.texts("td")))
        assert not browser.texts("#unanswered")
        again.close()


def test_a_page_that_cannot_be_made_says_why(server: PageServer, watcher: Watcher) -> None:
    watcher.close()
    shutil.rmtree(watcher.places.state)
    status, text = asked(server)
    assert status == 503
    assert str(watcher.places.folder) in text
