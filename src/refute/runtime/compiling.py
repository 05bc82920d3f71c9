"""How long this process has compiled, and who wants to hear when it begins; known without loading the compiler.

Kernels are compiled once per machine. That is neither the time of a rule nor of a search, so whoever measures those
takes a `Stopwatch`, which stands still meanwhile.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger("refute")


class Compiling:
    """What is compiled in one process, by one thread at a time."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._before = 0.0  # seconds of all that have ended
        self._listeners: list[Callable[[], None]] = []

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        since = self._since
        return self._before + (0.0 if since is None else time.perf_counter() - since)

    def begin(self, is_first_use: Callable[[], bool] = lambda: False) -> None:
        """A kernel, and all that it calls, is compiled from now on.

        A library does not print. Where nobody listens, the first compilation on a machine is logged as a warning, which
        Python shows unless the program sets up logging, and later ones as information.
        """
        self._since = time.perf_counter()
        if not self._before:
            unheard = not self._listeners and "pyspark.worker" not in sys.modules
            level = logging.WARNING if unheard and is_first_use() else logging.INFO
            _log.log(level, "refute: Compiling kernels for this machine, once.")
            for listener in self._listeners:
                listener()

    def end(self) -> None:
        """It is ready."""
        assert self._since is not None
        self._before, self._since = self.seconds, None

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener where the first kernel of this process is compiled in the block."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


COMPILING = Compiling()


class Stopwatch:
    """The seconds since it was made, without those in which this process compiled."""

    def __init__(self) -> None:
        self._started, self._compiled = time.perf_counter(), COMPILING.seconds

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        passed = time.perf_counter() - self._started
        return max(0.0, passed - (COMPILING.seconds - self._compiled))
