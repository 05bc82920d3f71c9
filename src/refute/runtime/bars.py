"""Bars that show how far work is, for those who look: on a terminal or in a notebook, once it has lasted a while."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 2.0  # seconds of work that need no bar


def in_notebook() -> bool:
    """Whether this process serves a notebook that can show bars, without importing what serves it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") and importlib.util.find_spec("ipywidgets") is not None


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

    with bar(what, total, Console(stderr=True)) as shown:

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
