"""Compiled kernels on disk: whatever happens to the files, the answer is there and right."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refute.kernels
from refute.kernels import compiled

_SOURCE = """
from refute.kernels.compiled import njit

@njit(cache=True, nogil=True)
def twice(number):
    return number + number
"""


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Any]:
    """What gives the kernel as a new process would have it."""
    source = tmp_path / "package" / "doubling.py"
    source.parent.mkdir()
    source.write_text(_SOURCE, encoding="utf-8")

    def load() -> Any:
        spec = importlib.util.spec_from_file_location("doubling", source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    return load


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_a_kernel_is_compiled_once_and_then_read_from_disk(fresh: Callable[[], Any], tmp_path: Path) -> None:
    first, second = fresh(), fresh()
    assert (first(21), hits(first)) == (42, 0)
    assert (second(21), hits(second)) == (42, 1)
    assert len(kept(tmp_path)) == 1


_CALLED = """
import numpy as np
from refute.kernels.compiled import njit

@njit(cache=True, nogil=True)
def summed(numbers):
    room = np.zeros(len(numbers), np.int64)
    room[:] = numbers
    if len(room) == 0:
        raise ValueError("nothing to sum")
    return room.sum()
"""
_CALLING = """
@njit(cache=True, nogil=True)
def doubled(numbers):
    return 2 * summed(numbers)
"""


def test_a_new_process_runs_a_kept_kernel_without_the_compiler_and_can_compile_calls_of_it(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(_CALLED, encoding="utf-8")
    (tmp_path / "calling.py").write_text(f"from called import njit, summed\n{_CALLING}", encoding="utf-8")
    first = "import numpy, called; print(called.summed(numpy.arange(4)))"
    then = """
import sys, numpy, called
print(called.summed(numpy.arange(4)), "numba.np.arrayobj" in sys.modules)
try:
    called.summed(numpy.arange(0))
except ValueError as error:
    print(error)
import calling
print(calling.doubled(numpy.arange(5)), calling.doubled(numpy.arange(5.0)), called.summed(numpy.arange(6)))
print([sum(kernel.stats.cache_hits.values()) for kernel in (called.summed, calling.doubled)])
"""
    said = [_output_of(script, tmp_path) for script in (first, then, then)]
    assert said[0] == "6\n"
    assert said[1] == "6 False\nnothing to sum\n20 20 15\n[1, 0]\n"
    assert said[2] == "6 False\nnothing to sum\n20 20 15\n[1, 2]\n"


def _output_of(script: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:-1],
        lambda content: content[:100],
        _flipped,
        lambda _: b"\x80random" * 99,
    ],
    ids=["empty", "one byte short", "cut", "one bit flipped", "something else"],
)
def test_a_damaged_file_is_compiled_over(
    fresh: Callable[[], Any], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    fresh()(21)
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    healing, healed = fresh(), fresh()
    assert (healing(21), hits(healing)) == (42, 0)
    assert (healed(21), hits(healed)) == (42, 1)


def test_first_uses_at_once_never_swap_their_entries(fresh: Callable[[], Any], tmp_path: Path) -> None:
    one, other = fresh(), fresh()  # neither sees a file of the other when it looks
    for kernel in (one, other):
        assert kernel._cache.load_overload((), kernel.targetctx) is None
    assert (one(21), other(0.25)) == (42, 0.5)
    later = fresh()
    assert (later(21), later(0.25), hits(later)) == (42, 0.5, 2)
    assert len(kept(tmp_path)) == 2


_NOWHERE = """
import importlib.util, sys, warnings

def load():
    spec = importlib.util.spec_from_file_location("doubling", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.twice

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert (load()(21), load()(0.25)) == (42, 0.5)
for warning in caught:
    print(warning.category.__name__, warning.message)
"""


def test_without_any_folder_kernels_live_in_memory_and_that_is_said_once(
    fresh: Callable[[], Any], tmp_path: Path
) -> None:
    blocked = tmp_path / "package" / "__pycache__"
    blocked.write_text("in the way", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", _NOWHERE, str(tmp_path / "package" / "doubling.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(blocked)},
        capture_output=True,
        text=True,
        check=True,
    )
    (said,) = ran.stdout.splitlines()
    assert said.startswith("UncachedKernelsWarning compiled kernels cannot be kept")
    assert not kept(tmp_path)


@pytest.mark.filterwarnings("ignore::refute.kernels.compiled.UncachedKernelsWarning")
def test_a_cache_that_is_no_absolute_path_is_not_used(
    fresh: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package" / "__pycache__").write_text("in the way", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert fresh()(21) == 42
    assert not kept(tmp_path)


def test_a_disk_that_takes_nothing_is_no_error(fresh: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled.KernelCache, "_write", full)
    assert fresh()(21) == 42


def test_a_change_of_the_source_is_noticed(fresh: Callable[[], Any], tmp_path: Path) -> None:
    assert fresh()(21) == 42
    source = tmp_path / "package" / "doubling.py"
    source.write_text(_SOURCE.replace("number + number", "number * 3"), encoding="utf-8")
    assert fresh()(21) == 63


@pytest.mark.parametrize("file", sorted(Path(refute.kernels.__file__).parent.glob("*.py")), ids=lambda file: file.name)
def test_every_kernel_is_cached_this_way(file: Path) -> None:
    if file.name not in ("compiled.py", "loading.py"):
        assert not re.search(r"^\s*(from numba|import numba)", file.read_text(encoding="utf-8"), re.MULTILINE)
