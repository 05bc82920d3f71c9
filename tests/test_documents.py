"""The examples of README.md and of docs run, and give what the comments beside them say."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = {
    "README.md": "## Watch rows come and go\n",
    "docs/monitor.md": "",
    "docs/propose.md": "",
    "docs/suspects.md": "",
    "docs/tracker.md": "",
    "docs/watch.md": "",
}
ON_SPARK = {"docs/watch.md"}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_block(code: str, names: dict[str, Any]) -> int:
    """Runs one block; how many of its values stand in a comment at the end of their line, and are right."""
    lines, held = code.splitlines(), 0
    for statement in ast.parse(code).body:
        piece = ast.Module([statement], [])
        said = lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset or 0 :].decode().strip()
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "example", "eval"), names)
            if said:
                assert repr(value) == said.removeprefix("# ")
                held += 1
        else:
            exec(compile(piece, "example", "exec"), names)
    return held


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")] if name in ON_SPARK else [])
        for name in EXAMPLES
    ],
)
def test_examples_give_what_they_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name in ON_SPARK:
        request.getfixturevalue("spark")  # the session that runs
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text(encoding="utf-8")
    section = text[text.index(EXAMPLES[name]) :]
    if EXAMPLES[name]:
        section = section[: section.index("\n## ", 1)]
    names: dict[str, Any] = {}
    assert sum(run_block(code, names) for code in BLOCK.findall(section)) >= 5
