"""What a folder of a monitor holds, seen from outside: nothing is locked, mapped or carried out again."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.durable.directory import last_told
from refute.durable.files import VERSION, checksum
from refute.durable.manifest import entries_of, read_manifest
from refute.errors import DataError, ended
from refute.language.rulebook import Rule, RuleBook
from refute.live.saved import MONITOR

_ATTEMPTS = 4  # a writer may put other files in the place of those that the manifest named when it was read
_PAUSE = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Overview:
    """A monitor on disk as of its last commit."""

    folder: Path
    format: int
    key: tuple[str, ...]
    method: str
    n_rows: int
    commits: int
    commits_in_log: int  # that will be carried out again when it is opened
    log_bytes: int
    n_bytes: int
    n_files: int
    rules: tuple[Rule, ...]
    counts: dict[str, int]

    @classmethod
    def of(cls, folder: Path, *, verify: bool = False) -> Overview:
        """The monitor of a folder; raises DataError where there is none, or where a file is not as it was written.

        Files are held against their sizes, and with `verify` against their checksums, for which all are read.
        """
        for attempt in range(_ATTEMPTS):
            body = read_manifest(folder, MONITOR.noun)
            try:
                return _seen(folder, body, verify)
            except (DataError, OSError) as error:
                if attempt < _ATTEMPTS - 1:
                    time.sleep(_PAUSE)
                elif isinstance(error, DataError):
                    raise
                else:
                    where = error.filename or folder
                    raise DataError(
                        f"{where} cannot be read: {ended(error.strerror or str(error))}", path=str(where)
                    ) from error
        raise AssertionError("the last attempt returns or raises")


def _seen(folder: Path, body: dict[str, Any], verify: bool) -> Overview:
    for entry in entries_of(body):
        path = folder / entry["file"]
        size = path.stat().st_size
        if size != entry["bytes"]:
            raise DataError(f"{path} is damaged: it has {size:,} bytes instead of {entry['bytes']:,}.", path=str(path))
        if (verify or entry is body["rules"]) and checksum(path) != entry["crc"]:
            raise DataError(f"{path} is damaged: its checksum does not match.", path=str(path))
    stated = described(folder)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    logs = [size for name, size in sizes.items() if name.startswith("log-")]
    if not logs:
        raise DataError(f"{folder} has no log, so commits are missing.", path=str(folder))
    return Overview(
        folder,
        VERSION,  # newer ones are refused, and there is no older one
        tuple(stated["key"]),
        stated["method"],
        stated["rows"],
        stated["commits"],
        stated["in_log"],
        sum(logs),
        sum(sizes.values()),
        len(sizes),
        tuple(RuleBook.of(folder / body["rules"]["file"])),
        stated["counts"],
    )


def described(folder: Path) -> dict[str, Any]:
    """What a folder holds, without opening it: rules, rows, violations, size; as of its last commit."""
    body, facts, commits, waiting = last_told(folder, MONITOR)
    size = 0
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size if path.is_file() else 0
    return {
        "key": body["key"],
        "method": body["method"],
        "rows": facts["n_rows"],
        "commits": commits,
        "in_log": waiting,
        "counts": {name: int(count) for name, count in facts["counts"].items()},
        "bytes": size,
        "rules": str(folder / body["rules"]["file"]),
    }
