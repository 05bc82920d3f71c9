"""A monitor on disk that is killed at any point opens again as of the last batch that was acknowledged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import committing
from committing import check_whole
from killing import Committers
from thorough import THOROUGH

BEFORE = 22  # batches, so that files of several states are there
TIMES = 40


@pytest.fixture(scope="module")
def committers() -> Iterator[Committers]:
    found = Committers(committing.__file__)
    yield found
    found.close()


@pytest.fixture(scope="module")
def begun(committers: Committers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A monitor that some batches have come to."""
    folder = tmp_path_factory.mktemp("begun") / "monitor"
    assert committers.run(folder, batches=BEFORE) == (BEFORE, False)
    return folder


@pytest.mark.parametrize(("before", "batches"), [(0, 4), (BEFORE, 2)])
def test_a_kill_inside_any_step_loses_no_batch_and_leaves_no_part_of_one(
    committers: Committers, begun: Path, tmp_path: Path, before: int, batches: int
) -> None:
    """Every step that changes a file is such a point: of beginning, commits, new rules, states written meanwhile.

    After some of them, the one who opens the folder next is killed as well, in one of its first steps.
    """
    step, killed = 0, True
    while killed:
        step += 1
        for half in (False, True) if THOROUGH else (step % 2 == 0,):
            folder = tmp_path / f"{step}-{half}"
            if before:
                shutil.copytree(begun, folder)
            acknowledged, killed = committers.run(folder, batches=batches, step=step, half=half)
            if step % 3 == 0:
                committers.run(folder, batches=0, step=1 + step % 7, half=not half)
            found = check_whole(folder, acknowledged or before)
            if step % 10 == 0:
                assert committers.run(folder, batches=1) == (found + 1, False)
                check_whole(folder, found + 1)
            shutil.rmtree(folder)
    assert step > 60


def test_a_kill_at_any_moment_loses_no_batch_and_leaves_no_part_of_one(committers: Committers, tmp_path: Path) -> None:
    chosen, done, most, heard = random.Random(7), 0, 0, 0
    folder = tmp_path / "monitor"
    for _ in range(TIMES):
        wait = chosen.randrange(4)
        acknowledged, killed = committers.run(folder, batches=1000, kill=(wait, chosen.uniform(0, 0.05)))
        assert killed
        heard += wait
        done = check_whole(folder, acknowledged or done)
        most = max(most, len(list(folder.iterdir())))
    assert done >= heard > TIMES
    assert most < 60  # what killed processes leave behind does not pile up
