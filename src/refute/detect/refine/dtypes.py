"""Problems in the few dtypes that the refinement kernels are compiled for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refute.errors import OptionError
from refute.plan.problem import Comparison, Ints, Problem

_POINTS = 2**31 - 2**12  # ids are 31 bits


def prepared(problem: Problem) -> Problem:
    """The problem with contiguous arrays of 32 or 64 bits; the same object where they are so already."""
    if max(problem.s.size, problem.t.size) > _POINTS:
        raise OptionError(
            f"Method 'refine' takes at most {_POINTS:,} rows. Choose another method for larger tables.",
            option="method",
            value="refine",
            most=_POINTS,
        )
    groups = tuple(tuple(map(_comparison, group)) for group in (problem.equal, problem.order, problem.differ))
    if all(
        x is y
        for xs, ys in zip(groups, (problem.equal, problem.order, problem.differ), strict=True)
        for x, y in zip(xs, ys, strict=True)
    ):
        return problem
    return replace(problem, equal=groups[0], order=groups[1], differ=groups[2])


def _comparison(comparison: Comparison) -> Comparison:
    s = _array(comparison.s)
    t = s if comparison.t is comparison.s else _array(comparison.t)
    if s is comparison.s and t is comparison.t:
        return comparison
    return Comparison(s, t, comparison.size, comparison.label, name=comparison.name)


def _array(values: Ints) -> Ints:
    if values.dtype not in (np.int32, np.int64):
        return values.astype(np.int64)
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)
