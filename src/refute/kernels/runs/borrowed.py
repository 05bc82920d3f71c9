"""Arrays that somebody else keeps, for inner loops.

Numba counts who uses an array, and does so again, atomically, wherever a loop passes one on or takes it out of a tuple:
that costs more than most looks at a line. Nothing is counted for an array that is an address and a shape; whoever
passes it on has to keep the memory.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

from refute.kernels.compiled import njit

_numba: Any = numba
carray = _numba.carray


def _address(context: Any, number: Any) -> Any:
    """A number as the address that it is; what Numba asks for this."""

    def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], cgutils.voidptr_t)

    return types.voidptr(number), code


pointer: Any = intrinsic(_address)


@njit(cache=True, nogil=True)
def borrowed(array: Any) -> Any:
    """The same array, which has no gaps, for as long as somebody keeps it: the caller of who asks, not that one."""
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)
