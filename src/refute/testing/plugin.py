"""A plugin of pytest: the fixture `assert_holds`, and `--refute-html DIR` for pages of what failed.

One line in `conftest.py` loads it: `pytest_plugins = ["refute.testing.plugin"]`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from refute.testing.asserting import BrokenRulesError, held

if TYPE_CHECKING:
    from refute.report import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--refute-html`."""
    parser.getgroup("refute").addoption(
        "--refute-html", metavar="DIR", type=Path, help="Write a page for each table that breaks its rules."
    )


@pytest.fixture
def assert_holds(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """`refute.testing.assert_holds`; with `--refute-html DIR`, a failure also writes the page of the check."""
    folder: Path | None = request.config.getoption("--refute-html")
    pages = page_names(request.node.nodeid)

    def asserted(table: Any, rules: Any, **options: Any) -> Report:
        __tracebackhide__ = True
        try:
            return held(table, rules, options, above=2)
        except BrokenRulesError as error:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                error.report.to_html(folder / next(pages))
            raise

    return asserted


def page_names(test: str) -> Iterator[str]:
    """A file for each table of a test that fails: the same in every run, and never that of another test.

    The id of a test has characters that files have not, so what replaces them is followed by a hash of the id.
    """
    name = re.sub(r"[^\w.-]+", "_", test, flags=re.ASCII)[-150:].strip("_")
    name += "-" + hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return (f"{name}-{number}.html" if number > 1 else f"{name}.html" for number in count(1))
