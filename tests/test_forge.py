"""Files that a forge and other tools read: each follows the schema of whoever reads it, and does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from refute.data import RULES, TABLE

ROOT = Path(__file__).parents[1]
SCHEMAS = {
    ".github/workflows/tests.yml": "vendor.github-workflows",
    ".github/workflows/nightly.yml": "vendor.github-workflows",
    "action.yml": "vendor.github-actions",
    "CITATION.cff": "vendor.citation-file-format",
}


def read(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text(encoding="utf-8"))


def test_files_of_the_forge_follow_their_schemas() -> None:
    for schema in sorted(set(SCHEMAS.values())):
        files = [str(ROOT / name) for name, wanted in SCHEMAS.items() if wanted == schema]
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
        checked = subprocess.run(command, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_make_target_of_the_workflows_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name in (".github/workflows/tests.yml", ".github/workflows/nightly.yml"):
        for job in read(name)["jobs"].values():
            asked = [step["run"].split()[1] for step in job["steps"] if step.get("run", "").startswith("make ")]
            assert set(asked) <= targets


def test_the_hook_for_rule_files_finds_what_it_lints() -> None:
    (hook,) = read(".pre-commit-hooks.yaml")
    assert hook["entry"] == "refute lint"
    for name, is_meant in (
        ("rules.yaml", True),
        ("conf/tax_rules.yml", True),
        ("mkdocs.yml", False),
        ("rules.md", False),
    ):
        assert bool(re.search(hook["files"], name)) == is_meant


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warn", 0)])
def test_the_action_fails_on_errors_and_only_warns_otherwise(severity: str, code: int, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(f'version: 1\nrules: [{{name: a, fd: "zip -> city", severity: {severity}}}]\n', encoding="utf-8")
    (step,) = (step for step in read("action.yml")["runs"]["steps"] if step["name"] == "Check the rules")
    given = {"DATA": str(TABLE), "RULES": str(rules), "OPTIONS": "--engine local --quiet", "REPORT": "page.html"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **given, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == code, ran.stderr
    assert ("::warning::" in ran.stdout) == (severity == "warn")
    assert (tmp_path / "page.html").exists()
    assert (tmp_path / "page.xml").exists()


def test_the_sample_rules_pass_the_hook() -> None:
    command = [sys.executable, "-m", "refute", "lint", str(RULES)]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "docs").returncode == 0
