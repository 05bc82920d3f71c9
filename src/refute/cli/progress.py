"""Progress on a terminal, on stderr, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refute.discovery import Progress

PATIENCE = 2.0  # seconds of work that need no bar


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, TextColumn("{task.fields[stages]}"), console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total, stages="")
    late = threading.Timer(patience, bar.start)
    late.start()
    try:
        with _stages(lambda stages: bar.update(task, stages=stages)) if spark else contextlib.nullcontext():
            yield lambda _: bar.advance(task)
    finally:
        late.cancel()
        late.join()
        bar.stop()


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
            counts = {name: getattr(progress, name) for name in ("evidences", "candidates", "verified")}
            counted = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
            status.update(f"{what}: {progress.phase}{': ' if counted else ''}{counted}")

        yield show
