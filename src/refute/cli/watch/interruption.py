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

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """What signals ask for. An exception that comes while Java is spoken to would leave half an answer behind."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._is_over = False
        self.is_noted = False

    @property
    def is_asked(self) -> bool:
        """Whether the command was asked to end."""
        return self._asked.is_set()

    def note(self) -> None:
        """From now on, signals are only noted."""
        self.is_noted = True

    def leave(self) -> None:
        """From now on, there is nothing to end but the process, which says itself what it was."""
        self._is_over = self.is_noted = True

    def wait(self, seconds: float) -> bool:
        """Waits for some seconds, or until the command is asked to end; whether it is."""
        return self._asked.wait(seconds)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hears a signal; a second Ctrl-C does not wait for a batch that may never end, nor for Java to leave."""
        if not self.is_asked:
            self._asked.set()
            if not self.is_noted:
                raise KeyboardInterrupt
        elif number == signal.SIGINT:
            if not self._is_over:
                left = " The next call takes the batch that was at work." if self.is_noted else ""
                os.write(2, f"refute: Interrupted.{left}\n".encode())
            os._exit(Exit.FAILED)  # as if killed, which loses nothing that was committed


@contextmanager
def interruption(given: Sequence[str]) -> Iterator[Interruption]:
    """Hears Ctrl-C and SIGTERM, by which services are stopped, for a command with the `given` arguments.

    If the command is all that this process does, the handler stays, so that a signal while the process ends does not
    change its exit code.
    """
    found = Interruption()
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be heard
        yield found
        return
    is_sole = sys.argv[1:] == list(given)
    before = {one: signal.signal(one, found) for one in _SIGNALS}
    try:
        yield found
    finally:
        if is_sole:
            found.leave()
        else:
            for one, handler in before.items():
                signal.signal(one, handler)
