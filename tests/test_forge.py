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


def action_step(name: str, folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """What a step of the action says and ends with, run in a folder as the forge runs it."""
    (step,) = (step for step in read("action.yml")["runs"]["steps"] if step["name"] == name)
    (folder / "step").write_text(step["run"], encoding="utf-8")
    shell = [sys.executable] if step["shell"] == "python" else ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, **given}
    return subprocess.run([*shell, "step"], cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warn", 0)])
def test_the_action_fails_on_errors_and_only_warns_otherwise(severity: str, code: int, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(f'version: 1\nrules: [{{name: a, fd: "zip -> city", severity: {severity}}}]\n', encoding="utf-8")
    given = {"DATA": str(TABLE), "RULES": str(rules), "OPTIONS": "--engine local --quiet", "REPORT": "page.html"}
    ran = action_step("Check the rules", tmp_path, **given)
    assert ran.returncode == code, ran.stderr
    assert ("::warning::" in ran.stdout) == (severity == "warn")
    assert (tmp_path / "page.html").exists()
    assert (tmp_path / "page.xml").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--delimiter ';' --null-values \"N A,NULL\"", 0),
        ("--delimiter ; --null-values 'N A' --mask *", 3),  # the name of a column, and no glob of files
        ("--delimiter \\;\n--null-values=N\\ A", 0),
        ("--delimiter ';", 3),
    ],
)
def test_options_of_the_action_are_in_quotes_as_in_a_shell(options: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "semi.csv").write_text("id;zip;city\n1;1;Ulm\n2;1;N A\n", encoding="utf-8")
    given = {"DATA": "semi.csv", "RULES": "zip -> city", "OPTIONS": options, "REPORT": "page.html"}
    ran = action_step("Check the rules", tmp_path, **given)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ("'*'" in ran.stderr) == ("*" in options)
    assert ("::error::a quote in the options" in ran.stdout) == (options == "--delimiter ';")


@pytest.mark.parametrize(("python", "said"), [(sys.executable, ""), ("/bin/false", "missing=true\n")])
def test_the_action_sets_python_up_only_where_there_is_none_that_is_new_enough(
    python: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(python)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    ran = action_step("Look for Python", tmp_path, PATH=path, GITHUB_OUTPUT=str(tmp_path / "out"))
    assert ran.returncode == 0
    assert not said or (tmp_path / "out").read_text(encoding="utf-8") == said
    assert said or not (tmp_path / "out").exists()


def test_the_sample_rules_pass_the_hook() -> None:
    command = [sys.executable, "-m", "refute", "lint", str(RULES)]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "docs").returncode == 0
