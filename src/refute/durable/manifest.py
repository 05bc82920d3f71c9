"""The file that names all others of a folder."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refute.durable.files import VERSION, refuse_newer
from refute.errors import DataError, ended
from refute.faults import nothing_kept
from refute.writing import write_text

NAME = "manifest.json"


def write_manifest(folder: Path, body: dict[str, Any]) -> None:
    """Puts a manifest in the place of the one that is there, whole or not at all."""
    state = json.dumps(body, sort_keys=True)
    write_text(folder / NAME, json.dumps({"refute": VERSION, "crc": _checksum(state), "state": state}) + "\n")


def read_manifest(folder: Path, noun: str) -> dict[str, Any]:
    """What the manifest of a folder says; raises DataError where it is damaged, foreign or of a newer format.

    `noun` says what is looked for, such as a monitor: a folder that holds something else is refused.
    """
    path = folder / NAME
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise nothing_kept(noun, str(folder), NAME) from error
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {ended(str(error))}", path=str(path)) from error
    if not isinstance(held, dict) or not {"refute", "crc", "state"} <= held.keys():
        raise DataError(f"{path} is not the manifest of a {noun}.", path=str(path))
    refuse_newer(path, held["refute"])
    if not isinstance(held["state"], str) or _checksum(held["state"]) != held["crc"]:
        raise DataError(f"{path} is damaged: its checksum does not match.", path=str(path))
    body: dict[str, Any] = json.loads(held["state"])
    if (other := body.get("holds", "monitor")) != noun:
        how = "watch" if other == "watch" else f"{str(other).capitalize()}.open"
        told = f"{folder} holds a {other}, not a {noun}. Open it with refute.{how}."
        raise DataError(told, path=str(folder), expected=noun)
    return body


def entries_of(part: Any) -> Iterator[dict[str, Any]]:
    """What a manifest says of each file."""
    if isinstance(part, dict):
        if isinstance(part.get("file"), str):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from entries_of(inner)


def bytes_of(body: Any) -> int:
    """The bytes of all files that a manifest names."""
    return sum(entry["bytes"] for entry in entries_of(body))


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode(errors="surrogatepass"))
