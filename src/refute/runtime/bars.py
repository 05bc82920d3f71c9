"""Bars that show how far work is, for those who look: on a terminal or in a notebook, once it has lasted a while."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 2.0  # seconds of work that need no bar
_BEAT = 0.5  # seconds between two looks at what is done, in a notebook


def in_notebook() -> bool:
    """Whether this process serves a notebook that can show bars, without importing what serves it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class Bar:
    """A line with what is done: steps of a known number, and a remark."""

    def __init__(self, shown: Any, task: Any) -> None:
        self._shown, self._task = shown, task

    def advance(self) -> None:
        """One step is done."""
        self._shown.advance(self._task)

    def remark(self, text: str) -> None:
        """Show a text behind the bar."""
        self._shown.update(self._task, remark=text)


@contextlib.contextmanager
def bar(what: str, total: int | None, console: Console, *, patience: float = PATIENCE) -> Iterator[Bar]:
    """A bar over so many steps (None: nobody knows) once the block has lasted `patience` seconds; gone at its end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counted = () if total is None else (MofNCompleteColumn(),)
    columns = (TextColumn("{task.description}"), BarColumn(), *counted, TimeElapsedColumn())
    shown = Progress(*columns, TextColumn("{task.fields[remark]}"), console=console, transient=True)
    task = shown.add_task(what, total=total, remark="")
    late = threading.Timer(patience, shown.start)
    late.daemon = True
    late.start()
    try:
        yield Bar(shown, task)
    finally:
        late.cancel()
        late.join()
        shown.stop()


class NotebookBar:
    """What is done, as a text that a notebook shows: a widget would stay behind in the saved notebook as an error."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total = what, total
        self._done, self._remark, self._started = 0, "", time.monotonic()

    def advance(self) -> None:
        """One step is done."""
        self._done += 1

    def remark(self, text: str) -> None:
        """Show a text behind the number of steps."""
        self._remark = text

    def __str__(self) -> str:
        steps = "" if self._total is None else f"{self._done:,} of {self._total:,}"
        parts = [part for part in (steps, self._remark, f"{time.monotonic() - self._started:.0f} s") if part]
        return f"{self._what}: {', '.join(parts)}"

    def show(self, ended: threading.Event, patience: float) -> None:
        """Shows the text once `patience` seconds have passed, and what becomes of it, until the event is set."""
        if ended.wait(patience):
            return
        display: Any = importlib.import_module("IPython.display")
        shown = display.display({"text/plain": str(self)}, raw=True, display_id=True)
        while not ended.wait(_BEAT):
            shown.update({"text/plain": str(self)}, raw=True)
        shown.update({}, raw=True)


@contextlib.contextmanager
def notebook_bar(what: str, total: int | None, *, patience: float = PATIENCE) -> Iterator[NotebookBar]:
    """As `bar`, in a notebook."""
    found, ended = NotebookBar(what, total), threading.Event()
    thread = threading.Thread(target=found.show, args=(ended, patience), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


Step = Callable[[Any], None]


@contextlib.contextmanager
def stepping(progress: Step | bool | None, what: str, total: int | None, remark: Callable[[Any], str]) -> Iterator[Any]:
    """What the library calls with each step: the caller's own function, that of a bar, or None.

    `progress` is the caller's function, True for a bar, False for none, or None for a bar in a notebook only.
    """
    if not (progress is True or (progress is None and in_notebook())):
        yield progress or None
        return
    from rich.console import Console

    with notebook_bar(what, total) if in_notebook() else bar(what, total, Console(stderr=True)) as shown:

        def step(reached: Any) -> None:
            shown.remark(remark(reached))
            shown.advance()

        yield step


def with_bar(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """What lets a function have `progress` as `stepping` takes it, where it takes one to call itself, or None."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with stepping(cast("Step | bool | None", kwargs.get("progress")), what, None, str) as step:
                kwargs["progress"] = step
                return function(*args, **kwargs)

        return run

    return decorated
