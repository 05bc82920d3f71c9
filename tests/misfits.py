"""Cells that are no values of a type, for every reader of files."""

from __future__ import annotations

MISFITS = (
    ("tinyint", "128"),
    ("bigint", "1.0"),
    ("bigint", " 1"),
    ("double", "1d"),
    ("decimal(4,2)", "100"),
    ("decimal(4,2)", "1.005"),
    ("boolean", "1"),
    ("date", "2021-02-30"),
    ("date", "2021-2-3"),
    ("timestamp_ntz", "2021-01-01 24:00:00"),
    ("timestamp", "2021-01-01 12:00:00"),
)
