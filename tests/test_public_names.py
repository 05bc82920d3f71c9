"""The names that users see: a change here is a change of the contract, and belongs into CHANGELOG.md."""

from __future__ import annotations

import importlib

import pytest

import refute
import refute.errors

PUBLIC = [
    "Changes",
    "DenialConstraint",
    "Discovery",
    "Monitor",
    "Report",
    "RuleBook",
    "RuleChanges",
    "Suspects",
    "Tracker",
    "Verdict",
    "Violations",
    "Watch",
    "check",
    "count",
    "discover",
    "errors",
    "explain",
    "load_rules",
    "parse",
    "propose",
    "suspects",
    "verify",
    "violations",
    "watch",
]
ERRORS = ["DataError", "EngineError", "OptionError", "RefuteError", "RuleError", "SchemaError"]
WARNINGS = ["InferredTypesWarning"]


def test_the_package_exports_exactly_the_public_names() -> None:
    assert sorted(refute.__all__) == PUBLIC


def test_every_public_name_exists_and_is_listed_by_dir() -> None:
    for name in PUBLIC:
        assert getattr(refute, name) is not None
        assert name in dir(refute)


def test_no_folder_hides_a_function() -> None:
    importlib.import_module("refute.discovery.options")
    assert refute.discover is importlib.import_module("refute.api.discovery").discover


def test_an_unknown_name_is_an_attribute_error_that_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"Did you mean .DenialConstraint."):
        refute.DenialConstrain  # noqa: B018


def test_the_errors_have_one_root() -> None:
    classes = {
        name: value
        for name, value in vars(refute.errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    errors = {name: value for name, value in classes.items() if not issubclass(value, Warning)}
    assert sorted(errors) == ERRORS
    assert all(issubclass(value, refute.errors.RefuteError) for value in errors.values())
    assert sorted(set(classes) - set(errors)) == WARNINGS
