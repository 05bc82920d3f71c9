"""How a search command ends when it is stopped, or its time is up: soon, with what was found, and saying so.

A search hears of Ctrl-C by KeyboardInterrupt, and gives what it has. After it, Ctrl-C only sets a time by which the
command is to end: what is written by then is kept. A second one ends the command at once, wherever the first one came,
and so does one before there is anything to give.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from refute.discovery import Discovery, Progress
    from refute.language.rulebook.commented import RuleFile

T = TypeVar("T")

_SHOWN = 20  # rules that are shown however little time there is
_SOON = 1.5  # seconds after Ctrl-C from which on nothing is added to what is written
_OVER, _SHARE = 1.5, 0.15  # seconds, or the share of a time limit, by which that may be later than the limit


class Ending:
    """What a search command has heard, and how long it may still take. SIGTERM, by which services and containers are
    stopped, is what Ctrl-C is."""

    def __init__(self, limit: float | None) -> None:
        """`limit` is the time limit of the search in seconds."""
        self._limit = limit
        self._last = math.inf
        self._is_found = False
        self._told = 0  # how often it was asked to end
        self.is_cut = False  # whether something is left out of what is shown or written
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Ending:
        if threading.current_thread() is threading.main_thread():  # elsewhere signals cannot be heard
            for sign in (signal.SIGINT, signal.SIGTERM):
                self._before[sign] = signal.signal(sign, self._hear)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for sign, before in self._before.items():
            signal.signal(sign, before)
        if self._told > 1 and isinstance(error, Exception):  # two at once end what waits with its lock half taken
            raise KeyboardInterrupt from error

    def following(self, follow: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
        """What hears of the progress of the search, and so of its end, and hands it on."""
        from refute.discovery.options import DONE

        def hear(progress: Progress) -> None:
            self._is_found = progress.phase == DONE
            if follow is not None:
                follow(progress)

        return hear

    def begin(self, seconds: float) -> None:
        """The search is over, and took so many seconds of its limit."""
        self._is_found = True
        if self._limit is not None:
            left = self._limit + max(_OVER, _SHARE * self._limit) - seconds
            self._last = min(self._last, time.monotonic() + left)

    def is_time_up(self) -> bool:
        """Whether to add nothing more to what is shown or written."""
        return time.monotonic() > self._last

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Within this block Ctrl-C ends the block: nobody may be reading what is printed."""
        self._is_found = False
        try:
            yield
        except KeyboardInterrupt:
            if self._told > 1:
                raise
            self.is_cut = True
        finally:
            self._is_found = True

    def in_time(self, rules: Iterable[T]) -> Iterator[T]:
        """The rules to show: a page of them in any case, and more as long as there is time."""
        for number, rule in enumerate(rules):
            if number >= _SHOWN and self.is_time_up():
                self.is_cut = True
                return
            yield rule

    def page(self, found: Discovery, name: str) -> str:
        """The rules as an HTML page, as far as there is time."""
        page = found.page(name=name, is_time_up=self.is_time_up)
        self.is_cut |= page.is_cut
        return page.text

    def rule_file(self, found: Discovery, *head: str) -> RuleFile:
        """The rules as a rule file with these lines at its head, as far as there is time."""
        file = found.rule_file(*head, is_time_up=self.is_time_up)
        self.is_cut |= file.is_cut
        return file

    def _hear(self, sign: int, frame: FrameType | None) -> None:
        self._last = min(self._last, time.monotonic() + _SOON)
        self._told += 1
        if not self._is_found or self._told > 1:
            raise KeyboardInterrupt
