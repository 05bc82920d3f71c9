"""What a comparison with a missing value means."""

from __future__ import annotations

from enum import Enum


class Nulls(Enum):
    """The two readings of NULL (and of float NaN, which counts as NULL)."""

    SQL = "sql"
    """A comparison with NULL is never true: the row cannot take part."""

    EQUAL = "equal"
    """NULL equals NULL and differs from every value; order comparisons with NULL stay false."""
