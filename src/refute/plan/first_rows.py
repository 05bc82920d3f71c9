"""How many first rows are looked at before all: a badly broken rule then costs next to nothing.

A table's own first rows come first, before the rest of it is even encoded (`detect/detector.py`). Methods that are
asked about a problem alone look at its first points (`detect/sweep/existence.py`), and where a search costs more than
a pass, or the rows of a listing have to suffice, at more of them in smaller steps (`range_search`, `sweep/listing.py`).
"""

from __future__ import annotations

FIRST = 1024
GROWTH = 32  # prefixes of n/32 and n/1024 and ... rows cost a small part of a full pass together


def prefix_sizes(n: int, *, first: int = FIRST, growth: int = GROWTH) -> list[int]:
    """The sizes of prefixes to look at before all of n rows, smallest first; none where `first` is 0."""
    sizes = []
    size = first
    while 0 < size * 8 <= n:
        sizes.append(size)
        size *= growth
    return sizes


def in_first_rows(size: int) -> str:
    """The words for a prefix in a plan."""
    return f"in the first {size:,} rows"
