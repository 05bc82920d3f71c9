"""A watch that is killed at any point goes on with the right batch, and readers never see part of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import committing_shards
import committing_watch
from committing_watch import check_whole
from killing import Committers
from thorough import THOROUGH

BEFORE = 9


@pytest.fixture(scope="module", params=[committing_watch, committing_shards], ids=["driver", "executors"])
def takers(request: pytest.FixtureRequest) -> Iterator[Committers]:
    found = Committers(request.param.__file__)
    yield found
    found.close()


@pytest.fixture(scope="module")
def begun(takers: Committers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A watch that has taken some batches."""
    folder = tmp_path_factory.mktemp("begun") / "watch"
    assert takers.run(folder, batches=BEFORE) == (BEFORE, False)
    return folder


@pytest.mark.parametrize(("before", "batches"), [(0, 1), (BEFORE, 2)])
def test_a_kill_inside_any_step_takes_every_batch_once(
    takers: Committers,
    begun: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    batches: int,
) -> None:
    """Every step that changes a file is such a point: before our commit, in it, after it, before Spark's."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # what a process wrote outlives it: only machines need the disk
    step, killed = 0, True
    while killed:
        step += 1 if THOROUGH else 17 if before else 7
        for half in (False, True) if THOROUGH else (step % 2 == 0,):
            folder = tmp_path / f"{step}-{half}"
            if before:
                shutil.copytree(begun, folder, symlinks=True)
            acknowledged, killed = takers.run(folder, batches=batches, step=step, half=half)
            if step % 3 == 0:
                takers.run(folder, batches=0, step=1 + step % 7, half=not half)
            found = check_whole(folder, acknowledged or before)
            if step % 4 == 0:
                assert takers.run(folder, batches=1) == (found + 1, False)
                check_whole(folder, found + 1)
            assert len(list((folder / "tables").iterdir())) < 8 if found else True
            shutil.rmtree(folder)
    assert step > 30
