"""What rules over one table share: groupings and sorts, built once, and the threads they may use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from refute.relation.once import Once

T = TypeVar("T")


class Share:
    """A cache of groupings and sorts by label, safe to use from many threads, and a number of threads to use.

    `threads` is how many threads one rule may use by itself; a caller that runs rules side by side passes 1.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.threads = threads
        self._once = Once()

    def get(self, key: Hashable | None, build: Callable[[], T]) -> T:
        """What `build` gave for this key the first time; built anew for the key None, which is never shared."""
        return build() if key is None else self._once.get(key, build)
