"""A plugin of pytest: the fixture `assert_holds`, and `--refute-html DIR` for pages of what failed.

One line in `conftest.py` loads it: `pytest_plugins = ["refute.testing.plugin"]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from refute.testing.asserting import BrokenRulesError
from refute.testing.asserting import assert_holds as assert_table_holds

if TYPE_CHECKING:
    from refute.report import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--refute-html`."""
    parser.getgroup("refute").addoption(
        "--refute-html", metavar="DIR", type=Path, help="write a page for each table that breaks its rules"
    )


@pytest.fixture
def assert_holds(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """`refute.testing.assert_holds`; with `--refute-html DIR`, a failure also writes the page of the check."""
    folder: Path | None = request.config.getoption("--refute-html")

    def asserted(table: Any, rules: Any, **options: Any) -> Report:
        __tracebackhide__ = True
        try:
            return assert_table_holds(table, rules, **options)
        except BrokenRulesError as error:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                name = re.sub(r"[^\w.-]+", "_", request.node.nodeid)[-150:]
                error.report.to_html(folder / f"{name}.html")
            raise

    return asserted
