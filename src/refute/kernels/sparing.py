"""Kernels that are not compiled for a few values: a loop over a thousand rows is done in Python in a millisecond, and
takes LLVM fifty.

What a kernel says is the same either way. As Python it reads its arrays as memory views, which give whole numbers of
any size, so no sum is too large, and a number that does not fit where it is stored is an error, never another number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numba.core.registry import CPUDispatcher

FEW = 1 << 14  # values of a call
_BUDGET = 1 << 18  # microseconds of all calls: about what the compiler takes for a large kernel
_CALL = 64  # of a call as such
_BY_NUMPY = 16  # values a microsecond


class Sparing:
    """Decides which kernels a process does without, as long as it asks little of them."""

    def __init__(self, few: int = FEW, budget: int = _BUDGET) -> None:
        self._few = few
        self._budget = budget
        self._left: dict[object, int] = {}  # of the budget of each kernel, in microseconds; 0 where it is compiled

    def spares(self, kernel: object, values: int) -> bool:
        """Whether the kernel is not worth compiling for so many values; what NumPy takes for them is on its account."""
        if values > self._few:
            return False
        left = self._left.get(kernel)
        if left is None:
            left = 0 if _is_at_hand(kernel) else self._budget
        self._left[kernel] = left = max(0, left - _CALL - values // _BY_NUMPY)
        return left > 0

    def call(self, kernel: SparedKernel, args: tuple[Any, ...]) -> Any:
        """What the kernel gives."""
        if self._left.get(kernel) == 0:
            return kernel.compiled(*args)
        sizes = (max(arg.shape) for arg in args if isinstance(arg, np.ndarray) and arg.dtype.char != _BYTES)
        if not self.spares(kernel, max(sizes, default=0)):
            return kernel.compiled(*args)
        started = time.thread_time_ns()
        found = kernel.uncompiled(*args)
        self._left[kernel] = max(0, self._left[kernel] - (time.thread_time_ns() - started) // 1000)
        return found


_BYTES = np.dtype(np.uint8).char  # of strings, of which a few may have many
_now = Sparing()


def is_spared(kernel: object, values: int) -> bool:
    """Whether NumPy is to do what several kernels would do, this one among them, with so many values."""
    return _now.spares(kernel, values)


@contextmanager
def sparing_by(decision: Sparing) -> Iterator[None]:
    """Has this process decide otherwise in the block."""
    global _now
    before, _now = _now, decision
    try:
        yield
    finally:
        _now = before


class SparedKernel(CPUDispatcher):
    """A kernel that something else can stand in for: a function, or Python, where it is plain.

    It is plain if it has loops over whole numbers and floats alone, in time linear in its arrays but for logarithms,
    and what it calls is plain too.
    """

    standin: Callable[..., Any] | None

    def __call__(self, *args: Any) -> Any:
        return _now.call(self, args)

    def compiled(self, *args: Any) -> Any:
        """What its machine code gives, which is compiled if need be."""
        return super().__call__(*args)

    def uncompiled(self, *args: Any) -> Any:
        """The same without machine code."""
        if self.standin is not None:
            return self.standin(*args)
        view: Callable[[Any], Any] = memoryview
        with np.errstate(over="ignore"):  # numbers of 64 bits that are meant to wrap
            return self.py_func(*(view(arg) if isinstance(arg, np.ndarray) else arg for arg in args))


def _is_at_hand(kernel: object) -> bool:
    """Whether the kernel has been compiled, by this process or by one before."""
    found = cast(Any, kernel)
    return not hasattr(found, "_cache") or bool(found.signatures) or found._cache.is_kept
