"""What rules over one table share: groupings and sorts, built once; the threads they may use; who hears of steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar

from refute.plan.step import Step
from refute.runtime.once import Once

T = TypeVar("T")
Listener = Callable[[Step], None]


class Planned(Protocol):
    """A way to answer that says what it does."""

    def steps(self) -> Iterable[Step]:
        """What it does, in order."""


class Share:
    """A cache of groupings and sorts by label, safe to use from many threads, and a number of threads to use.

    `threads` is how many threads one rule may use by itself; a caller that runs rules side by side passes 1.
    `listener` hears of each step as it begins.
    """

    def __init__(self, threads: int = 1, *, listener: Listener | None = None) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}.")
        self.threads = threads
        self.listener = listener
        self._once = Once()

    def get(self, key: Hashable | None, build: Callable[[], T]) -> T:
        """What `build` gave for this key the first time; built again for the key None, which is never shared."""
        return build() if key is None else self._once.get(key, build)

    def heard_by(self, listener: Listener) -> Share:
        """The same with another listener."""
        found = Share(self.threads, listener=listener)
        found._once = self._once
        return found


def threads_for(share: Share | None, points: int, parallel: int) -> int:
    """The threads that a rule over so many points may use; one where more would not pay."""
    return share.threads if share is not None and points >= parallel else 1


def within(share: Share | None, scope: str) -> Share | None:
    """The share for a part of the work: its steps name the part."""
    if share is None or share.listener is None:
        return share
    listener = share.listener
    return share.heard_by(lambda step: listener(step.within(scope)))


def under(share: Share | None, condition: str) -> Share | None:
    """The share for what is done under a condition, which its steps name."""
    if share is None or share.listener is None:
        return share
    listener = share.listener
    return share.heard_by(lambda step: listener(step.under(condition)))


def apart(share: Share | None, scope: str) -> Share | None:
    """What other rows than all are answered with: nothing to share and one thread, and the same listener."""
    listening = within(share, scope)
    return None if listening is None or listening.listener is None else Share(listener=listening.listener)


def announce(share: Share | None, way: Planned) -> None:
    """Tell whoever listens that this way is taken."""
    if share is not None and share.listener is not None:
        for step in way.steps():
            share.listener(step)
