"""Rules in tests of one's own: what passes, what fails and with which words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from refute.errors import SchemaError
from refute.testing import BrokenRulesError, BrokenRuleWarning, assert_holds

pytest_plugins = ["pytester"]

TABLE = pa.table({"zip": ["94110", "94110", "94612"], "city": ["San Francisco", "Oakland", "Oakland"]})
BOOK = {"version": 1, "rules": [{"name": "one_city", "fd": "zip -> city", "severity": "warn"}]}


def test_a_table_that_obeys_its_rules_gives_the_report() -> None:
    assert assert_holds(TABLE, "unique(zip, city)").ok


def test_a_broken_rule_is_an_assertion_error_that_shows_the_rows() -> None:
    with pytest.raises(BrokenRulesError, match=r"(?s)zip_fixes_city.*Oakland") as caught:
        assert_holds(TABLE, "zip -> city")
    assert caught.value.report["zip_fixes_city"].finding.violations == 2
    assert isinstance(caught.value, AssertionError)


def test_a_rule_that_only_warns_warns() -> None:
    with pytest.warns(BrokenRuleWarning, match=r"one_city: .*zip"):
        assert not assert_holds(TABLE, BOOK).ok


def test_a_tolerated_rule_is_silent() -> None:
    rule = BOOK["rules"][0] | {"severity": "error", "tolerance": {"rows": 2}}  # type: ignore[index]
    assert assert_holds(TABLE, BOOK | {"rules": [rule]}).ok


def test_a_wrong_column_is_the_error_of_check() -> None:
    with pytest.raises(SchemaError, match="Did you mean 'city'"):
        assert_holds(TABLE, "zip -> cty")


def test_the_plugin_has_a_fixture_and_writes_pages_of_failures(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["refute.testing.plugin"]')
    pytester.makepyfile(
        """
        TABLE = [{"zip": "94110", "city": "San Francisco"}, {"zip": "94110", "city": "Oakland"}]

        def test_good(assert_holds):
            import pyarrow as pa
            assert_holds(pa.Table.from_pylist(TABLE), "unique(city)")

        def test_bad(assert_holds):
            import pyarrow as pa
            assert_holds(pa.Table.from_pylist(TABLE), "zip -> city")
        """
    )
    result = pytester.runpytest_subprocess("--refute-html", "pages", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the table breaks its rules*"])
    (page,) = (pytester.path / "pages").iterdir()
    assert "San Francisco" in page.read_text(encoding="utf-8")
