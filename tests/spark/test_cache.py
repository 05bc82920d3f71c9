"""What is run from the cache can be written by nobody else, or it is not run; and nothing of the current folder is."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from refute.cli.app import run
from refute.kernels.folder import kernel_folder
from refute.runtime.cache import UntrustedCacheWarning, cache_directory, own_folder
from refute.spark.session import archive as archives
from refute.spark.session.archive import ClassArchive
from refute.spark.session.java import Java, find_java
from refute.spark.session.session import _places
from refute.writing import write_text

KERNELS = kernel_folder(Path(__file__))  # before a test has its own cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(folder))
    return folder


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_whatever_the_umask_only_the_user_can_write_or_read(cache: Path) -> None:
    before = os.umask(0)
    try:
        launcher = find_java().launcher_home / "bin" / "java"
    finally:
        os.umask(before)
    assert launcher.is_relative_to(cache)
    assert modes(cache) == {0o700}


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_cache_that_others_can_write_is_not_used_and_that_is_said(cache: Path, mode: int) -> None:
    cache.mkdir()
    cache.chmod(mode)
    with pytest.warns(UntrustedCacheWarning, match=f"The cache {cache} is not used"):
        launcher = find_java().launcher_home / "bin" / "java"
    assert not launcher.is_relative_to(cache)
    assert modes(launcher.parent.parent) == {0o700}
    assert not list(cache.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_not_used_and_that_is_said(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    os.chown(cache, 65534, 65534)
    with pytest.warns(UntrustedCacheWarning, match="belongs to another user"):
        assert cache_directory() != cache


def test_a_cache_below_a_folder_where_anybody_can_rename_is_not_used(cache: Path) -> None:
    cache.parent.chmod(0o777)
    with pytest.warns(UntrustedCacheWarning):
        assert cache_directory() != cache
    cache.parent.chmod(0o1777)
    assert cache_directory() == cache


def test_a_folder_within_that_others_can_write_is_not_used_either(cache: Path) -> None:
    (cache / "java").mkdir(parents=True)
    (cache / "java").chmod(0o777)
    assert not own_folder(cache_directory(), "java", "x").is_relative_to(cache)
    (cache / "java").rmdir()
    (cache / "java").symlink_to(cache.parent)
    assert not own_folder(cache_directory(), "java", "x").is_relative_to(cache)


def test_an_archive_that_others_could_have_written_is_never_offered_to_java(cache: Path) -> None:
    archive = ClassArchive.of(find_java())
    archive.folder.mkdir(parents=True)
    for file, content in ((archive.base, "base"), (archive.top, "spark"), (archive.seal, "4 5")):
        file.write_text(content, encoding="ascii")
    assert archive.options()
    for file in (archive.base, archive.top, archive.seal, archive.folder, archive.folder.parent):
        mode = file.stat().st_mode
        file.chmod(mode | 0o002)
        assert archive.options() == [], file
        file.chmod(mode)
    assert archive.options()


def test_a_cache_in_the_current_folder_is_no_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFUTE_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for relative in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache_directory() == tmp_path / "home" / ".cache" / "refute"


def test_a_temporary_cache_is_gone_after_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code = "from refute.spark.session.java import find_java; print(find_java().launcher_home)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "REFUTE_CACHE_DIR": str(tmp_path / "file"),
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert Path(told).is_relative_to(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


HOSTILE = "open({mark!r}, 'a').write(__name__ + chr(10)); raise SystemExit('hostile')\n"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The note that modules of the current folder would leave; it lies beside data, and above it a false Spark."""
    note, folder = tmp_path / "ran", tmp_path / "a" / "data"
    folder.mkdir(parents=True)
    for name in ("hashlib", "numpy", "pyarrow", "json", "refute", "pandas", "click", "difflib"):
        (folder / f"{name}.py").write_text(HOSTILE.format(mark=str(note)), encoding="utf-8")
    (folder / "t.csv").write_text("zip,city\n1,a\n1,b\n", encoding="utf-8")
    (tmp_path / "a" / "jars").mkdir()
    (tmp_path / "a" / "bin").mkdir()
    (tmp_path / "a" / "bin" / "spark-submit").write_text(f"#!/bin/sh\necho spark >> {note}\n", encoding="utf-8")
    (tmp_path / "a" / "bin" / "spark-submit").chmod(0o755)
    monkeypatch.chdir(folder)
    return note


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as its console script runs it, in the current folder."""
    script = "import sys; from refute.cli.app import main; main()"
    path = [entry for entry in sys.path if entry and Path(entry) != Path.cwd()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    return subprocess.run(
        [sys.executable, "-P", "-c", script, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_the_command_runs_nothing_of_the_current_folder(hostile: Path) -> None:
    done = command("check", "t.csv", "zip -> city", "--engine", "local")
    assert (done.returncode, done.stderr) == (1, "")
    assert not hostile.exists()


@pytest.mark.spark
def test_spark_runs_nothing_of_the_current_folder_nor_of_the_one_above(hostile: Path) -> None:
    code = """
import os, sys
from refute.spark.session import session
spark = session("local[1]", brief=True)
def paths(batches):
    import pyarrow, sys
    for _ in batches:
        yield pyarrow.record_batch({"path": sys.path})
found = spark.range(1).mapInArrow(paths, "path string").toArrow()["path"].to_pylist()
assert os.getcwd() not in found and "" not in found, found
print("safe")
"""
    path = [entry for entry in sys.path if entry and Path(entry) != Path.cwd()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("safe\n", "")
    assert not hostile.exists()


def test_workers_have_the_current_folder_on_their_path_exactly_if_this_process_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    for entries, safe in ((["/elsewhere"], True), ([""], False), ([str(tmp_path)], False)):
        monkeypatch.setattr(sys, "path", entries)
        assert ("PYTHONSAFEPATH" in _places()) == safe
    assert Path(_places()["SPARK_HOME"]).name == "pyspark"
    monkeypatch.setenv("SPARK_HOME", "/chosen")
    assert "SPARK_HOME" not in _places()


def test_the_rehearsal_imports_nothing_from_the_current_folder(
    cache: Path, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    run_it = subprocess.run

    def note(arguments: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(arguments)
        if arguments[0] != sys.executable:  # Java's own dump
            Path(arguments[-1].partition("=")[2]).touch()
            return subprocess.CompletedProcess(arguments, 0)
        return run_it(arguments, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "run", note)
    archive = ClassArchive(Java(Path("/no/java"), "17"), cache_directory() / "classes" / "x")
    assert archive.make("import sys, numpy, hashlib, json; print(sys.argv)") is False
    assert [arguments[0] for arguments in asked] == ["/no/java", sys.executable]
    assert not hostile.exists()


def test_no_command_starts_a_process_that_outlives_it() -> None:
    sources = (Path(archives.__file__).parents[1]).rglob("*.py")
    assert not [file for file in sources if "start_new_session" in file.read_text(encoding="utf-8")]


def test_preparing_says_what_it_did(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "refute").symlink_to(KERNELS or tmp_path)  # so nothing is compiled that other tests have
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert run(["prepare", "--kernels"]) == 0
    told = capsys.readouterr()
    assert re.fullmatch(r"kernels: (compiled in \d+ s|already there)\n", told.out)
    assert told.err == "Compiling kernels for this machine, once, on all cores.\n"
    archive = ClassArchive.of(find_java())
    own_folder(cache, "classes", archive.folder.name)
    lock = archive.folder / "lock"
    lock.touch()  # as another process has it that makes one
    assert run(["prepare"]) == 3
    assert "Spark works without it" in capsys.readouterr().err
    lock.unlink()
    for file, text in ((archive.base, "java"), (archive.top, "spark"), (archive.seal, "4 5")):
        write_text(file, text, mode=0o600)
    assert run(["prepare"]) == 0
    assert capsys.readouterr().out == f"kernels: already there\n{archive.folder}: already there\n"
    assert run(["prepare", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
