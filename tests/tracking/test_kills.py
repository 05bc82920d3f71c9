"""A tracker on disk that is killed at any point opens again as of the last batch that was acknowledged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from killing import Committers
from thorough import THOROUGH
from tracking import committing_tracker
from tracking.committing_tracker import check_whole

BEFORE = 11  # batches, so that files of several states are there
TIMES = 200 if THOROUGH else 12


@pytest.fixture(scope="module")
def committers() -> Iterator[Committers]:
    found = Committers(committing_tracker.__file__)
    yield found
    found.close()


@pytest.fixture(scope="module")
def begun(committers: Committers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tracker that some batches have come to."""
    folder = tmp_path_factory.mktemp("begun") / "tracker"
    assert committers.run(folder, batches=BEFORE) == (BEFORE, False)
    return folder


@pytest.mark.parametrize(("before", "batches"), [(0, 2), (BEFORE, 2)])
def test_a_kill_inside_any_step_loses_no_batch_and_leaves_no_part_of_one(
    committers: Committers, begun: Path, tmp_path: Path, before: int, batches: int
) -> None:
    """Every step that changes a file is such a point: of beginning, commits, a refit, states written meanwhile.

    After some of them, the one who opens the folder next is killed as well, in one of its first steps.
    """
    step, killed = 0, True
    while killed:
        step += 1 if THOROUGH or not before else 2
        for half in (False, True) if THOROUGH else (step % 4 < 2,):
            folder = tmp_path / f"{step}-{half}"
            if before:
                shutil.copytree(begun, folder)
            acknowledged, killed = committers.run(folder, batches=batches, step=step, half=half)
            if step % 3 == 0 and (acknowledged or before):
                committers.run(folder, batches=0, step=1 + step % 7, half=not half)
            found = check_whole(folder, acknowledged or before)
            if step % 10 == 0 and found:
                assert committers.run(folder, batches=1)[1] is False
                check_whole(folder, found + 1 if found > 1 else 1)
            shutil.rmtree(folder, ignore_errors=True)
    assert step > 30


def test_a_kill_at_any_moment_loses_no_batch_and_leaves_no_part_of_one(committers: Committers, tmp_path: Path) -> None:
    chosen, done, most, heard = random.Random(7), 0, 0, 0
    folder = tmp_path / "tracker"
    for _ in range(TIMES):
        wait = chosen.randrange(4)
        acknowledged, killed = committers.run(folder, batches=1000, kill=(wait, chosen.uniform(0, 0.05)))
        assert killed
        heard += wait
        done = check_whole(folder, acknowledged or done)
        most = max(most, len(list(folder.iterdir())) if folder.exists() else 0)
    assert done >= heard > TIMES
    assert most < 60  # what killed processes leave behind does not pile up
