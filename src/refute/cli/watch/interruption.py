"""Ctrl-C and SIGTERM: before a stream runs they end the command where it is, from then on between two looks at it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from refute.cli.exits import Exit


class Interruption:
    """What signals ask for. An exception that comes while Java is spoken to would leave half an answer behind."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self.is_noted = False

    @property
    def is_asked(self) -> bool:
        """Whether the command was asked to end."""
        return self._asked.is_set()

    def note(self) -> None:
        """From now on, signals are only noted."""
        self.is_noted = True

    def wait(self, seconds: float) -> bool:
        """Waits for some seconds, or until the command is asked to end; whether it is."""
        return self._asked.wait(seconds)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hears a signal; a second Ctrl-C does not wait for a batch that may never end."""
        if self.is_noted and self.is_asked and number == signal.SIGINT:
            os.write(2, b"refute: Interrupted. The next call takes the batch that was at work.\n")
            os._exit(Exit.FAILED)  # as if killed, which loses nothing that was committed
        self._asked.set()
        if not self.is_noted:
            raise KeyboardInterrupt


@contextmanager
def interruption(given: Sequence[str]) -> Iterator[Interruption]:
    """Hears Ctrl-C, and SIGTERM, by which services and containers are stopped, alike, for a command that was given so.

    If it is all that this process does, nothing else hears them after it, so a signal while the process ends does not
    change its exit code.
    """
    found = Interruption()
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be heard
        yield found
        return
    before = {one: signal.signal(one, found) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield found
    finally:
        if not (found.is_noted and sys.argv[1:] == list(given)):
            for one, handler in before.items():
                signal.signal(one, handler)
