"""Rules in tests: `assert_holds(table, rules)`, and a plugin of pytest that offers it as a fixture.

pytest_plugins = ["refute.testing.plugin"]
"""

from refute.testing.asserting import BrokenRulesError, BrokenRuleWarning, assert_holds

__all__ = ["BrokenRuleWarning", "BrokenRulesError", "assert_holds"]
