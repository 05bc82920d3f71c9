"""Files and folders stay small, a name means one thing, threads have one source, and tests patch no constant."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import refute

ROOT = Path(refute.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST_LINES = 400
MEDIAN_LINES = 150
MOST_INSIDE = 16  # modules and folders that one folder holds, beside its `__init__`
ROOMY = {".", "kernels"}  # a folder for each layer; one for each subject of kernels, beside how these are compiled

# Names that several classes may have, and why.
SHARED_NAMES = {
    "Tuning": "what a method, or a search, goes by: always named with its module, as in `sweep.Tuning`",
}

# Names that files of several folders may have, as each means the same everywhere: in another layer, of another subject.
_SHARED = """
approximate arrays blocks calling cells changes choice clashes closure columns cube dependencies
dictionary discovery engine excerpts extrema files floats forest formulas frames giving_back groups hashing implied
index integers jobs json json_text kept key_table local marking methods monitor nested options orders outcome
packed pairs places points progress proposing range_tree rehearsal repeats result rounds rows rule saved scenes
schema search searching shape shapes source spans sql state string_order strings summary suspects table
tasks testimony tracking trees tuning types ways weighted words
"""
SHARED_FILES = set(_SHARED.split())


def lines_of(file: Path) -> int:
    """How many lines a file has."""
    return len(file.read_text(encoding="utf-8").splitlines())


def test_no_two_classes_have_one_name() -> None:
    homes = defaultdict(list)
    for file in FILES:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(file.relative_to(ROOT).as_posix())
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert not {name: places for name, places in shared.items() if name not in SHARED_NAMES}
    assert set(shared) == set(SHARED_NAMES), "names that are no longer shared need no exception"


def test_no_two_files_have_one_name_that_means_two_things() -> None:
    homes = defaultdict(list)
    for file in FILES:
        if file.name != "__init__.py":
            homes[file.stem].append(file.relative_to(ROOT).as_posix())
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert not {name: places for name, places in shared.items() if name not in SHARED_FILES}
    assert set(shared) == SHARED_FILES, "names that are no longer shared need no exception"


def test_no_file_is_too_long_and_most_are_short() -> None:
    lengths = {file.relative_to(ROOT).as_posix(): lines_of(file) for file in FILES}
    assert not {name: length for name, length in lengths.items() if length > MOST_LINES}
    assert median(lengths.values()) <= MEDIAN_LINES


def test_no_folder_holds_too_much() -> None:
    inside = defaultdict(set)
    for file in FILES:
        part = file.parent if file.name == "__init__.py" else file
        if part != ROOT:
            inside[part.parent.relative_to(ROOT).as_posix()].add(part.name)
    crowded = {folder for folder, names in inside.items() if len(names) > MOST_INSIDE}
    assert not {folder: sorted(inside[folder]) for folder in crowded - ROOMY}
    assert crowded == ROOMY, "folders that are small need no exception"


def test_every_folder_is_a_package() -> None:
    assert not [file for file in FILES if not (file.parent / "__init__.py").exists()]


def test_pools_of_threads_are_made_in_one_place() -> None:
    makers = [file for file in FILES if "ThreadPoolExecutor" in file.read_text(encoding="utf-8")]
    assert [file.relative_to(ROOT).as_posix() for file in makers] == ["runtime/threads.py"]


def patched(file: Path) -> Iterator[str]:
    """The names that the tests of a file assign to attributes, or patch."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (part.attr for part in parts if isinstance(part, ast.Attribute))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
            texts = [part.value for part in node.args[:2] if isinstance(part, ast.Constant)]
            yield from (text.rpartition(".")[2] for text in texts[:1] if isinstance(text, str))


def test_tests_patch_no_constant() -> None:
    allowed = {"CACHE_DIR", "COMPILING"}  # a setting of Numba, and an object that counts
    tests = sorted(Path(__file__).parent.rglob("*.py"))
    found = {
        f"{file.name}: {name}" for file in tests for name in patched(file) if name.isupper() and name not in allowed
    }
    assert not found, "give the size or price as an argument"
