"""Suspects as files: their lines, and the table in two halves."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import refute
from refute.display import in_json
from refute.errors import OptionError
from refute.writing import replacing, replacing_folder, write_text

if TYPE_CHECKING:
    from refute.cli.output.places import Place
    from refute.cli.source import Opened

_KEPT, _SUSPECTS, _FINISHED = "clean.parquet", "suspects.parquet", "_SUCCESS"
_KINDS = (".csv", ".json", ".parquet")


def require_suspects_file(place: Place | None) -> None:
    """Raise OptionError where the name of the file does not say how to write it."""
    if place is None or place.is_stdout:
        return
    kind = next((kind for kind in _KINDS if place.text.lower().endswith(kind)), None)
    if kind is None:
        raise OptionError(
            f"{place.flag} {place.text}: Name a file that ends in .csv, .json or .parquet.",
            option=place.flag,
            value=place.text,
        )
    if kind == ".parquet" and place.address is not None:
        raise OptionError(
            f"{place.flag} {place.text}: A Parquet file of suspects is written on this machine only.",
            option=place.flag,
            value=place.text,
        )


def require_quarantine(place: Place | None, outputs: Iterable[Place | None] = ()) -> None:
    """Raise OptionError where a folder holds anything that is not ours to replace, or shall hold another output."""
    for other in outputs:
        if place is not None and other is not None and other is not place and other.is_below(place):
            raise OptionError(
                f"{place.flag} {place.text} replaces the whole folder, and {other.flag} {other.text} is in it. Name "
                "another place.",
                option=place.flag,
                value=place.text,
            )
    if place is None or place.address is not None or not place.path.is_dir():
        return
    others = sorted(file.name for file in place.path.iterdir() if file.name not in (_KEPT, _SUSPECTS, _FINISHED))
    if others:
        raise OptionError(
            f"{place.flag} {place.text} replaces the whole folder, and it holds {others[0]}. Name another folder.",
            option=place.flag,
            value=place.text,
        )


def written(suspects: refute.Suspects, place: Place) -> str:
    """The lines as text: JSON where the file is named so, else CSV with one line for each cell."""
    if place.text.lower().endswith(".json"):
        return (
            in_json(json.dumps([_plain(line) for line in suspects], indent=1, default=str, ensure_ascii=False)) + "\n"
        )
    from refute.relation.shown import shown_values  # which loads Arrow

    table, text = suspects.to_arrow(), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*map(shown_values, table.columns), strict=True))
    return text.getvalue()


def write_suspects(data: Opened, suspects: refute.Suspects, place: Place) -> None:
    """Write the lines to a file, which appears whole or not at all."""
    if place.text.lower().endswith(".parquet"):
        from pyarrow import parquet as pq

        with replacing(place.path) as draft:
            pq.write_table(suspects.to_arrow(), str(draft))
        return
    place.write(written(suspects, place), data)


def write_halves(data: Opened, suspects: refute.Suspects, place: Place) -> None:
    """Write the rows that stay and the suspects, with reasons, below a folder: both are there, or what was there is.

    Elsewhere than on this machine Spark writes one after the other, each with a file `_SUCCESS` of its own.
    """
    kept, blamed = suspects.split()
    if data.session is None:
        from pyarrow import parquet as pq

        with replacing_folder(place.path) as draft:
            draft.mkdir()
            for name, half in ((_KEPT, kept), (_SUSPECTS, blamed)):
                pq.write_table(half, str(draft / name))
            write_text(draft / _FINISHED, "")
        return
    from refute.spark.source.files import shares_files

    if place.address is not None or not shares_files(data.session):
        for name, half in ((_KEPT, kept), (_SUSPECTS, blamed)):
            half.write.mode("overwrite").parquet(f"{place.text.rstrip('/')}/{name}")
        return
    with replacing_folder(place.path) as draft:
        for name, half in ((_KEPT, kept), (_SUSPECTS, blamed)):
            half.write.parquet(f"file://{draft / name}")
        write_text(draft / _FINISHED, "")


def _plain(line: Any) -> dict[str, Any]:
    return {**line._asdict(), "cells": [cell._asdict() for cell in line.cells]}
