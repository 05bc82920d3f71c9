"""Columns that folders carry in their names, as in `sales/year=2024/part-0.parquet`."""

from __future__ import annotations

from urllib.parse import unquote

_NULL = "__HIVE_DEFAULT_PARTITION__"


def partition_values(file: str, base: str) -> dict[str, str | None]:
    """The columns and values that the folders between a base folder and a file name; usually none."""
    folder_name = base.rstrip("/") + "/"
    if not file.startswith(folder_name):
        return {}
    inner = file.removeprefix(folder_name)
    values: dict[str, str | None] = {}
    for folder in inner.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if name and equals:
            values[unquote(name)] = None if value == _NULL else unquote(value)
    return values
