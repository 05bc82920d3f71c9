"""Rapidash: violations by orthogonal range search (Liu et al., Algorithms 1 to 6).

Equalities partition the points, the paper's hash table H; each partition is searched by an index over its order
comparisons. At most one comparison besides equalities needs no index at all (Algorithms 1 and 4). Otherwise a range
tree is filled in the order of one comparison (Algorithm 6), while its O(n log^(d-1) n) space is within `memory`; a pair
of k-d trees, in linear space, beyond that, and wherever it was measured to be faster. Queries with two roles (Algorithm
3) and one-row predicates (appendix C, mixed constraints) are two sides of points from the start.
"""

from refute.detect.range_search.choice import IndexKind, RangeOptions
from refute.detect.range_search.operations import (
    count,
    count_steps,
    exists,
    exists_steps,
    pairs,
    partners,
    partners_steps,
)

__all__ = [
    "IndexKind",
    "RangeOptions",
    "count",
    "count_steps",
    "exists",
    "exists_steps",
    "pairs",
    "partners",
    "partners_steps",
]
