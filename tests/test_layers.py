"""The layer table of ARCHITECTURE.md, held by the imports of every file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import refute

ROOT = Path(refute.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
PAGE = ROOT.parents[1] / "ARCHITECTURE.md"

# From the bottom up; layers in one row do not import each other. A layer imports only rows above it in this table.
ROWS = (
    ("errors", "data", "version"),
    ("faults",),
    ("writing", "display", "runtime"),
    ("language",),
    ("kernels",),
    ("relation",),
    ("durable",),
    ("index",),
    ("plan",),
    ("blame",),
    ("detect",),
    ("discovery",),
    ("proposing",),
    ("live",),
    ("tracking",),
    ("watching",),
    ("spark",),
    ("report",),
    ("api",),
    ("cli", "testing"),
)
HEIGHT = {name: height for height, row in enumerate(ROWS) for name in row}
HEIGHT |= {"__init__": len(ROWS), "__main__": len(ROWS)}  # the package itself hands out names of all layers


def layer_of(file: Path) -> str:
    """The folder of a file, or the name of a module that lies in no folder."""
    first = file.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported(file: Path, *, types: bool = True) -> Iterator[str]:
    """The full name of every module that a file imports, wherever in the file; without `types`, when it runs."""
    package = ("refute", *file.relative_to(ROOT).parts[:-1])
    tree = ast.parse(file.read_text(encoding="utf-8"))
    guarded = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = set() if types else {id(inner) for node in guarded for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_file_imports_only_from_layers_below_its_own(file: Path) -> None:
    layer = layer_of(file)
    for name in imported(file):
        parts = name.split(".")
        if parts[0] != "refute":
            continue
        target = parts[1] if len(parts) > 1 and parts[1] in HEIGHT else "__init__"
        if target == layer:
            continue
        if layer == "kernels" and target != "runtime":
            pytest.fail(f"kernels import nothing of ours but room for arrays, yet this imports {name}")
        if layer == "cli" and target == "__init__":
            continue  # the command line is a user of the public names
        assert HEIGHT[target] < HEIGHT[layer], f"{layer} may not import {name}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_only_the_spark_layer_imports_pyspark(file: Path) -> None:
    if layer_of(file) != "spark":
        assert not [name for name in imported(file, types=False) if name.split(".")[0] in ("pyspark", "py4j")]


def test_every_folder_and_module_has_a_place_in_the_table() -> None:
    assert {layer_of(file) for file in FILES} <= set(HEIGHT)


def test_the_picture_of_the_layers_is_true() -> None:
    picture = PAGE.read_text(encoding="utf-8").split("```")[1]
    shown: dict[str, set[str]] = {}
    for line in picture.strip("\n").splitlines():
        if line.startswith("  |"):
            shown[next(reversed(shown))] = set(line[3:].split())
        else:
            shown |= {layer: set() for layer in line[2:29].split()}
    folders = {
        layer: {file.relative_to(ROOT / layer).parts[0] for file in (ROOT / layer).rglob("*.py")} for layer in shown
    }
    assert set(shown) == set(HEIGHT) - {"__init__", "__main__"}
    assert shown == {layer: {part for part in parts if not part.endswith(".py")} for layer, parts in folders.items()}


def test_files_that_the_page_on_architecture_names_exist() -> None:
    named = re.findall(r"`([a-z_/]+\.py)`", PAGE.read_text(encoding="utf-8"))
    there = [f"/{file.as_posix()}" for folder in (ROOT, PAGE.parent / "tests") for file in folder.rglob("*.py")]
    assert len(named) > 100
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in there)]
