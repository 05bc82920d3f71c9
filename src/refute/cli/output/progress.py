"""Progress on a terminal, on stderr, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from refute.runtime.bars import PATIENCE, bar

if TYPE_CHECKING:
    from refute.discovery import Progress


def shows_progress(quiet: bool) -> bool:
    """Whether anybody is looking: stderr is a terminal, and they did not ask for silence."""
    return not quiet and sys.stderr.isatty()


@contextlib.contextmanager
def counting(
    what: str, total: int, quiet: bool, *, spark: bool = False, patience: float = PATIENCE
) -> Iterator[Callable[[object], None]]:
    """A bar over a known number of steps, once the work has lasted `patience` seconds; call what it gives once a step.

    With `spark`, the stages that Spark runs are shown beside it.
    """
    if not shows_progress(quiet):
        yield lambda _: None
        return
    from rich.console import Console

    with (
        bar(what, total, Console(stderr=True), patience=patience) as shown,
        _stages(shown.remark) if spark else contextlib.nullcontext(),
    ):
        yield lambda _: shown.advance()


def _stages(show: Callable[[str], None]) -> contextlib.AbstractContextManager[None]:
    """What shows the stages of the Spark that the command has started."""
    from refute.spark.session.progress import watching

    return watching(lambda stages: show(str(stages)))


@contextlib.contextmanager
def waiting(what: str, quiet: bool) -> Iterator[None]:
    """A moving mark for work of unknown length."""
    if not shows_progress(quiet):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextlib.contextmanager
def following(what: str, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A line that shows how far a discovery is; call what it gives with each report."""
    if not shows_progress(quiet):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:

        def show(progress: Progress) -> None:
            status.update(f"{what}: {progress}")

        yield show
