"""Where runs lie in memory, so that one call looks at many of them.

To give an array to a kernel costs more than a look at a small run, and a row is held against several runs. Here a run
is a line of numbers, the addresses and lengths of its arrays; whoever passes it on has to keep the run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.runs.borrowed import carray, pointer
from refute.kernels.runs.rows import Arrays

Places = NDArray[np.int64]  # (runs, WIDTH)

LINES, N_LINES, STARTS, N_STARTS, ZONES, N_ZONES, LEVELS, N_LEVELS, NETS, N_NETS, SHIFT, WIDTH = range(12)


def place_of(run: Arrays) -> list[int]:
    """The addresses and lengths of a run's arrays, none of which has gaps."""
    found = []
    for part in run[:5]:
        assert part.flags.c_contiguous
        found += [part.__array_interface__["data"][0], len(part)]
    return [*found, run.shift]


@njit(cache=True, nogil=True)
def run_at(places: Places, k: int, n_equal: int, width: int) -> Arrays:
    """The k-th run, whose lines have so many cells."""
    at = places[k]
    return Arrays(
        carray(pointer(at[LINES]), (at[N_LINES], width), np.int64),
        carray(pointer(at[STARTS]), (at[N_STARTS],), np.int32),
        carray(pointer(at[ZONES]), (at[N_ZONES], 2 * (width - 1 - n_equal)), np.int64),
        carray(pointer(at[LEVELS]), (at[N_LEVELS],), np.int64),
        carray(pointer(at[NETS]), (at[N_NETS],), np.int64),
        n_equal,
        at[SHIFT],
    )
