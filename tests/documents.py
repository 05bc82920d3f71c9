"""Blocks of a document, run as a reader would: Python, files, and commands of the shell, one after the other."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.cli.app import run

_BLOCK = re.compile(r"(?:^<!-- run: ([\w-]+) -->\n)?^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_EXIT = re.compile(r"#\s*exit code (\d)\s*$")
SHOWN = ("", "text")  # what a reader reads: output, and commands that need another machine


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences: language, words after it, text, and what a comment above says of running it."""

    language: str
    words: str
    text: str
    run: str

    @property
    def file(self) -> str | None:
        """The name of the file that the block shows."""
        found = _TITLE.search(self.words)
        return found[1] if found else None

    @property
    def needs_spark(self) -> bool:
        """Whether it uses a session."""
        return self.run == "spark"


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a document in their order."""
    for how, words, body in _BLOCK.findall(text):
        language, _, rest = words.partition(" ")
        yield Block(language, rest, body, how)


def needs_spark(document: Path) -> bool:
    """Whether some block of a document uses a session."""
    return any(block.needs_spark for block in blocks(document.read_text(encoding="utf-8")))


def run_all(text: str, folder: Path, *, spark: bool = False) -> int:
    """Runs the blocks of a document in a folder, those that need Spark only with `spark`; how many values it held."""
    names: dict[str, Any] = {}
    held = 0
    for block in blocks(text):
        if block.needs_spark and not spark:
            break  # what follows may need its results
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        if block.language == "python" and (block.file is None or _can_import(block.text)):
            held += run_python(block.text, names)
        elif block.language == "sh":
            for line in block.text.splitlines():
                run_line(line, folder)
    return held


def run_python(code: str, names: dict[str, Any]) -> int:
    """Runs one block; how many of its values stand in a comment at the end of their line, and are right."""
    lines, held = code.splitlines(), 0
    for statement in ast.parse(code).body:
        piece = ast.Module([statement], [])
        said = lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset or 0 :].decode().strip()
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "example", "eval"), names)
            if said:
                assert repr(value) == said.removeprefix("# "), f"{ast.unparse(statement)} is {value!r}"
                held += 1
        else:
            exec(compile(piece, "example", "exec"), names)
    return held


def run_line(line: str, folder: Path) -> None:
    """Runs one command, of Refute in this process; its exit code is 0 unless a comment says otherwise."""
    words = shlex.split(line, comments=True)
    if not words:
        return
    said = _EXIT.search(line)
    wanted = int(said[1]) if said else 0
    if words[0] == "refute":
        found = int(run(words[1:]))
    else:
        words[0] = sys.executable if words[0] == "python" else words[0]
        found = subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL).returncode
    assert found == wanted, f"{line}: exit code {found}"


def _can_import(code: str) -> bool:
    """Whether all packages are installed that a file of another tool, such as Airflow, imports."""
    imported = re.findall(r"^(?:import|from)\s+(\w+)", code, re.MULTILINE)
    return all(importlib.util.find_spec(name) is not None for name in imported)
