"""Values that are computed once per key, however many threads ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """A cache of built values. A key is built by one thread while others wait for it; a failed build is not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cells: dict[Hashable, _Cell] = {}

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """What `build` returned for this key the first time."""
        with self._lock:
            cell = self._cells.setdefault(key, _Cell())
        if not cell.filled:
            with cell.lock:
                if not cell.filled:
                    cell.value = build()
                    cell.filled = True
        value: T = cell.value
        return value

    def peek(self, key: Hashable) -> Any | None:
        """The value of a key that was built before, else None."""
        with self._lock:
            cell = self._cells.get(key)
        return cell.value if cell is not None and cell.filled else None


class _Cell:
    __slots__ = ("filled", "lock", "value")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.filled = False
        self.value: Any = None
