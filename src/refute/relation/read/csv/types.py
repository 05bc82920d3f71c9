"""Types of CSV columns, inferred from their text: a column gets a type only if nothing is lost by it.

`05401` stays text because as a number it would equal `5401`; `NA` and `nan` are text like any other. The patterns are
plain enough to mean the same to Arrow's and to Java's regular expressions, so a file has the same types whoever
reads it. (They end in `\\z`: Java's `$` would also match before a final line break.)
"""

from __future__ import annotations

import re
from enum import Enum

# 0001 to 9999, the years that Python knows.
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
DAY = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"


FEW = 64  # cells up to which Python's regular expressions cost less than a call of Arrow


class CsvType(Enum):
    """A type that the cells of a CSV column can have, narrowest first; the value is the pattern of every cell."""

    INTEGER = r"\A(?:0|-?[1-9][0-9]{0,17})\z"
    BIG_INTEGER = r"\A(?:0|-?[1-9][0-9]{0,36})\z"
    FLOAT = r"\A-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,2})?\z"
    BOOLEAN = r"\A(?:true|false|True|False|TRUE|FALSE)\z"
    DATE = rf"\A{DAY}\z"
    TIMESTAMP = rf"\A{DAY}[ T]{TIME}\z"


_PYTHON = {kind: re.compile(kind.value.replace(r"\z", r"\Z")) for kind in CsvType}


def all_fit(cells: list[str | None], kind: CsvType) -> bool:
    """Whether every cell that is not null has the pattern of a type; for few cells, as a call of Arrow costs more."""
    matches = _PYTHON[kind].match
    return all(cell is None or matches(cell) for cell in cells)


def narrowest(fits: dict[CsvType, bool]) -> CsvType | None:
    """The narrowest type that every cell fits, or None where only text does."""
    return next((kind for kind in CsvType if fits.get(kind)), None)
