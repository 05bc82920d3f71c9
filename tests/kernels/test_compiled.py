"""Compiled kernels on disk: whatever happens to the files, the answer is there and right."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

import refute.kernels
from refute.kernels import compiled, folder
from refute.runtime import compiling as watching
from refute.runtime.compiling import Compiling

_SOURCE = """
from refute.kernels.compiled import njit

@njit(cache=True, nogil=True)
def twice(number):
    return number + number
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[..., Any]:
    """What gives the kernel as a new process would have it, from a folder."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "doubling.py").write_text(_SOURCE, encoding="utf-8")

    def load(folder: str = "package") -> Any:
        spec = importlib.util.spec_from_file_location("doubling", tmp_path / folder / "doubling.py")
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


def test_a_kernel_is_compiled_once_and_then_read_from_disk(fresh: Callable[[], Any], cache: Path) -> None:
    first, second = fresh(), fresh()
    assert (first(21), hits(first)) == (42, 0)
    assert (second(21), hits(second)) == (42, 1)
    assert len(kept(cache)) == 1


def test_the_same_code_elsewhere_and_at_another_time_is_the_same_kernel(
    fresh: Callable[..., Any], tmp_path: Path
) -> None:
    assert fresh()(21) == 42
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "doubling.py").write_text(f"# a remark\n{_SOURCE}", encoding="utf-8")
    again = fresh("other")
    assert (again(21), hits(again)) == (42, 1)


def test_kernels_that_nobody_used_for_months_are_removed(fresh: Callable[[], Any], cache: Path) -> None:
    fresh()(21)
    (file,) = kept(cache)
    forgotten, recent = cache / "forgotten.nbc", cache / "recent.nbc"
    for other, days in ((forgotten, 100), (recent, 80), (file, 80)):
        other.touch()
        os.utime(other, (time.time() - 86_400 * days,) * 2)
    folder.remove_unused.cache_clear()
    assert fresh()(21) == 42  # and counts as used today
    assert fresh()(0.25) == 0.5  # is compiled, so the folder is looked through
    assert not forgotten.exists()
    assert recent.exists()
    assert time.time() - file.stat().st_mtime < 86_400


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
    # a change of what is called is noticed by those that call it, whose own file stays as it was
    (tmp_path / "called.py").write_text(_CALLED.replace("room.sum()", "10 * room.sum()"), encoding="utf-8")
    assert _output_of("import numpy, calling; print(calling.doubled(numpy.arange(5)))", tmp_path) == "200\n"


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
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "REFUTE_CACHE_DIR": str(blocked)},
        capture_output=True,
        text=True,
        check=True,
    )
    (said,) = ran.stdout.splitlines()
    assert said.startswith("UncachedKernelsWarning Compiled kernels cannot be kept")
    assert not kept(tmp_path)


def test_where_the_users_cache_cannot_be_written_kernels_are_kept_beside_their_source(
    fresh: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(tmp_path / "file"))
    assert fresh()(21) == 42
    assert [file.parent for file in kept(tmp_path)] == [tmp_path / "package" / "__pycache__"]


@pytest.mark.filterwarnings("ignore::refute.kernels.compiled.UncachedKernelsWarning")
def test_a_cache_that_is_no_absolute_path_is_not_used(
    fresh: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "relative")
    assert fresh()(21) == 42
    assert not kept(tmp_path)


def test_compiling_is_announced_once_and_is_not_part_of_what_is_measured(fresh: Callable[[], Any]) -> None:
    heard: list[bool] = []
    compiling = Compiling()
    with pytest.MonkeyPatch.context() as patch, compiling.heard_by(lambda: heard.append(gc.isenabled())):
        patch.setattr(compiled, "COMPILING", compiling)
        patch.setattr(watching, "COMPILING", compiling)
        watch, began = watching.Stopwatch(), time.perf_counter()
        assert (fresh()(21), fresh()(0.25), fresh()(0.5)) == (42, 0.5, 1.0)
        passed = time.perf_counter() - began
    assert heard == [False]  # garbage is collected again afterwards
    assert gc.isenabled()
    ended = compiling.seconds
    assert 0 < ended < passed
    assert compiling.seconds == ended, "nothing is compiled any more"
    assert watch.seconds <= passed - compiling.seconds + 0.05


@pytest.mark.parametrize(("first", "listened"), [(True, False), (True, True), (False, False)])
def test_the_first_compilation_on_a_machine_is_a_warning_of_the_log(
    caplog: pytest.LogCaptureFixture, first: bool, listened: bool
) -> None:
    compiling = Compiling()
    with caplog.at_level("INFO", "refute"), contextlib.ExitStack() as stack:
        if listened:
            stack.enter_context(compiling.heard_by(lambda: None))
        for _ in range(2):
            compiling.begin(lambda: first)
            compiling.end()
    (record,) = caplog.records
    assert record.getMessage() == "refute: Compiling kernels for this machine, once."
    assert record.levelname == ("WARNING" if first and not listened else "INFO")


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
    if file.name not in ("compiled.py", "loading.py", "folder.py", "sparing.py"):
        assert not re.search(r"^\s*(from numba|import numba)", file.read_text(encoding="utf-8"), re.MULTILINE)
