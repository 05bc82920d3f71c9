"""The first minute: the demonstration, what is compiled, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from refute.cli import demo
from refute.cli.app import run
from refute.errors import EngineError


def test_the_demonstration_proposes_checks_blames_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    page = tmp_path / "page.html"
    assert run(["demo", "--html", str(page)]) == 0
    told = capsys.readouterr().out
    for part in ("fname -> gender", "zip_fixes_city: 12 violations in 8 rows", "4 rows are to blame", "Next, with"):
        assert part in told
    assert "This process checked them. Spark, which `pip install 'refute[spark]'` adds" in told
    assert f"to open in a browser: {page}" in told
    assert "zip_fixes_city" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_does_not_end_the_demonstration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "none" / "page.html"
    assert run(["demo", "--engine", "local", "--html", str(place)]) == 4, "it finished only in part"
    told = capsys.readouterr()
    missed = f"refute: The page was not written: Cannot write to {str(place)!r}: No such file or directory. --html F"
    assert told.err.startswith(missed)
    assert "to open in a browser" not in told.out
    assert "\n\nNext" in told.out
    assert run(["demo", "--engine", "local", "--html", str(place), "--quiet"]) == 4
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(missed)


@pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed")
def test_where_spark_does_not_start_this_process_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:

    def no_java(*given: Any, **named: Any) -> Future[Any]:
        failed: Future[Any] = Future()
        failed.set_exception(EngineError("Spark needs Java 17."))
        return failed

    monkeypatch.setattr(demo, "begin_spark", no_java)
    assert run(["demo", "--html", str(tmp_path / "page.html")]) == 0
    assert "This process checked them, as Spark did not start: Spark needs Java 17." in capsys.readouterr().out
    for named in (["--engine", "spark"], ["--master", "local[1]"]):
        assert run(["demo", *named]) == 3
        told = capsys.readouterr()
        assert told.err == "refute: Spark needs Java 17.\n"
        assert "Next, with" not in told.out


def test_compiling_is_announced_on_the_first_use_and_then_never_again(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\n1\n1\n", encoding="ascii")
    command = [sys.executable, "-m", "refute", "check", "rows.csv", "unique(a)"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "REFUTE_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = [
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        for _ in range(2)
    ]
    assert [one.returncode for one in done] == [1, 1]
    assert [one.stderr for one in done] == ["refute: Compiling kernels for this machine, once.\n", ""]
