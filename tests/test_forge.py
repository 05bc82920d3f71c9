"""Files that a forge and other tools read: each follows the schema of whoever reads it, and does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
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


def jobs() -> Iterator[tuple[str, str, Any]]:
    """Each job of the workflows with the file that has it, and its name."""
    for file in sorted((ROOT / ".github" / "workflows").iterdir()):
        for name, job in read(f".github/workflows/{file.name}")["jobs"].items():
            yield file.name, name, job


def test_every_workflow_is_checked() -> None:
    assert {f".github/workflows/{file}" for file, _, _ in jobs()} == {name for name in SCHEMAS if "workflows" in name}


def test_every_promised_version_and_system_is_tested() -> None:
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    versions = {one.rsplit(" ", 1)[1] for one in promised if re.fullmatch(r".*Python :: 3\.\d+", one)}
    (matrix,) = (job["strategy"]["matrix"] for file, name, job in jobs() if (file, name) == ("tests.yml", "tests"))
    systems = {*matrix["os"], *(one["os"] for one in matrix["include"])}
    assert set(matrix["python"]) == versions
    assert {one.split("-")[0] for one in systems} == {"ubuntu", "macos"}
    assert {"Operating System :: MacOS", "Operating System :: POSIX :: Linux"} <= set(promised)


def test_workflows_do_what_they_are_for() -> None:
    done = {(file, " ".join(step["run"].split())) for file, _, job in jobs() for step in job["steps"] if "run" in step}
    wanted = ("make lint", "make unit PYTHON=python", "make oldest", "make docs")
    assert {("tests.yml", command) for command in wanted} <= done
    assert ("tests.yml", 'pip install . cd "$RUNNER_TEMP" refute demo') in done
    profiles = {step["env"]["HYPOTHESIS_PROFILE"] for file, _, job in jobs() for step in job["steps"] if "env" in step}
    assert profiles == {"ci", "thorough"}


def test_steps_are_shell_that_parses_and_expressions_that_have_a_value(tmp_path: Path) -> None:
    for _, _, job in jobs():
        matrix = job.get("strategy", {}).get("matrix", {})
        keys = {*matrix, *(key for one in matrix.get("include", ()) for key in one)} - {"include"}
        used = re.findall(r"\$\{\{\s*(.*?)\s*\}\}", repr(job))
        assert set(used) <= {f"matrix.{key}" for key in keys}
        assert job["runs-on"] in ("ubuntu-latest", "${{ matrix.os }}")
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            (tmp_path / "step").write_text(step.get("run", ""), encoding="utf-8")
            assert subprocess.run(["bash", "-n", str(tmp_path / "step")]).returncode == 0


def test_every_make_target_of_the_workflows_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for _, _, job in jobs():
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
    assert ("::error::A quote in the options" in ran.stdout) == (options == "--delimiter ';")


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
