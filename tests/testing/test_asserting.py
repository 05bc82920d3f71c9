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


def test_a_mistake_in_a_rule_is_shown_at_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["refute.testing.plugin"]')
    pytester.makepyfile(
        """
        import pyarrow as pa
        from refute.testing import assert_holds as plain

        TABLE = pa.table({"zip": ["1"]})

        def test_fixture(assert_holds):
            assert_holds(TABLE, "zip -> cty")

        def test_function():
            plain(TABLE, "zip -> cty")
        """
    )
    result = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=2)
    shown = result.stdout.str()
    assert "There is no column 'cty'" in shown
    assert "binding.py" not in shown


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
    result.stdout.fnmatch_lines(["*The table breaks its rules*"])
    (page,) = (pytester.path / "pages").iterdir()
    assert "San Francisco" in page.read_text(encoding="utf-8")


def test_each_table_that_fails_has_a_page_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["refute.testing.plugin"]')
    pytester.makepyfile(
        """
        import pyarrow as pa
        import pytest

        def table(name):
            return pa.table({"zip": [1, 1], "city": ["Ulm", name]})

        @pytest.mark.parametrize("name", ["a b", "a:b", "a_b", "A_B", "_" * 300 + "x", "_" * 300 + "y"])
        def test_of_a_name(assert_holds, name):
            assert_holds(table(name), "zip -> city")

        def test_of_two_tables(assert_holds):
            for name in ("first", "second"):
                with pytest.raises(AssertionError):
                    assert_holds(table(name), "zip -> city")
        """
    )
    for _ in range(2):  # the second run replaces what the first wrote
        result = pytester.runpytest_subprocess("--refute-html", "pages", "-p", "no:cacheprovider")
        result.assert_outcomes(passed=1, failed=6)
    pages = [page.name.lower() for page in (pytester.path / "pages").iterdir()]
    assert len(pages) == len(set(pages)) == 8
    assert sum("of_a_name_a_b" in page for page in pages) == 4


def test_a_warning_names_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["refute.testing.plugin"]')
    pytester.makepyfile(
        """
        import pyarrow as pa
        import refute.testing

        TABLE = pa.table({"zip": [1, 1], "city": ["Ulm", "Bonn"]})
        BOOK = {"rules": [{"name": "r", "fd": "zip -> city", "severity": "warn"}]}

        def test_with_the_fixture(assert_holds):
            assert_holds(TABLE, BOOK)

        def test_without():
            refute.testing.assert_holds(TABLE, BOOK)
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines(["*.py:8: BrokenRuleWarning*", "*.py:11: BrokenRuleWarning*"])
