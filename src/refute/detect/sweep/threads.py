"""Calls that run side by side: kernels let go of the interpreter, so threads are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from refute.plan.share import Share

T = TypeVar("T")


def together(threads: int, calls: Sequence[Callable[[], T]]) -> list[T]:
    """What each call gives, in order; on up to `threads` threads."""
    if threads <= 1 or len(calls) <= 1:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(threads, len(calls))) as pool:
        return list(pool.map(lambda call: call(), calls))


def threads_for(share: Share | None, points: int, parallel: int) -> int:
    """The threads that a rule over so many points may use; one where more would not pay."""
    return share.threads if share is not None and points >= parallel else 1
