"""What a batch did: to each rule, and in how much time; and the history of all batches, a line each.

A change of rules is a record too: it brings violations and takes others away, as a batch does.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from refute.errors import DataError
from refute.writing import replacing

DRIVER, EXECUTORS = "driver", "executors"
_SHOWN = 40  # bytes of a line that a message shows
MOST_LINES = 20_000  # of a history; half as many are left when there are more


class Instant(NamedTuple):
    """When violations came or went: with a batch, or with a change of rules after it. They are in order."""

    batch: int
    rule_change: int = 0


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What a batch did to one rule."""

    name: str
    added: int
    resolved: int
    open: int
    broken: bool  # more than its tolerance allows


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What one batch did: rows that came in it, rows that there are, and violations by rule."""

    batch: int  # -1 for the table that was there first
    time: str
    rows: int
    n_rows: int
    seconds: float
    rules: tuple[RuleRecord, ...]
    where: str = DRIVER  # the rows are
    rule_change: int = 0  # of all changes of rules, which one this is, after that batch; 0 for the batch itself

    @property
    def instant(self) -> Instant:
        """When that was."""
        return Instant(self.batch, self.rule_change)

    @property
    def added(self) -> int:
        """How many violations appeared."""
        return sum(rule.added for rule in self.rules)

    @property
    def resolved(self) -> int:
        """How many violations vanished."""
        return sum(rule.resolved for rule in self.rules)

    @property
    def open(self) -> int:
        """How many violations there are."""
        return sum(rule.open for rule in self.rules)

    def to_dict(self) -> dict[str, Any]:
        """The record as what JSON holds."""
        return asdict(self)

    @classmethod
    def of(cls, told: dict[str, Any]) -> BatchRecord:
        """The record that was written."""
        rules = tuple(RuleRecord(**rule) for rule in told["rules"])
        where, change = told.get("where", DRIVER), told.get("rule_change", 0)
        return cls(told["batch"], told["time"], told["rows"], told["n_rows"], told["seconds"], rules, where, change)


class BatchHistory:
    """A file with a line for each batch, the newest last. A line that was not written to its end is left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = 0

    def mend(self, last: dict[str, Any] | None, records: int) -> None:
        """Brings the file to where the last commit is, whose record this is, the last one of so many.

        Lines of batches that are not committed, as of a newer state that another copy has replaced, go.
        """
        if records > 1 and not self._path.exists():
            warnings.warn(
                f"{self._path} is missing. It starts again with the last batch.", RuntimeWarning, stacklevel=2
            )
        known = read_history(self._path)
        newest = [] if last is None else [BatchRecord.of(last)]
        whole = [one for one in known for end in newest if one.instant < end.instant] + newest
        self._lines = len(known)
        if whole != known or (known and not self._path.read_bytes().endswith(b"\n")):
            self._write(whole)

    def append(self, record: BatchRecord) -> None:
        """Takes a record in."""
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(_line(record))
        self._lines += 1
        if self._lines > MOST_LINES:
            self._write(read_history(self._path)[-MOST_LINES // 2 :])

    def _write(self, records: Sequence[BatchRecord]) -> None:
        with replacing(self._path) as draft, open(draft, "w", encoding="utf-8") as stream:
            stream.writelines(map(_line, records))
        self._lines = len(records)


def read_history(path: Path, newest: int | None = None) -> list[BatchRecord]:
    """The records of a history, or the newest of them, in order; none where there is no file.

    Raises DataError where one is damaged.
    """
    try:
        with open(path, "rb") as stream:
            return list(_records(path, deque(stream, newest)))
    except FileNotFoundError:
        return []


class _Appended:
    """Reads what is appended to a history since it was last asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self._file: tuple[int, int] | None = None

    def read(self) -> tuple[list[BatchRecord], bool]:
        """The records that are new, and whether they are all there are, as the file is another one than before."""
        try:
            with open(self._path, "rb") as stream:
                now = os.fstat(stream.fileno())
                anew = self._file != (now.st_dev, now.st_ino) or now.st_size < self._place
                if anew:  # another was put in its place
                    self._file, self._place = (now.st_dev, now.st_ino), 0
                elif now.st_size == self._place:
                    return [], False
                stream.seek(self._place)
                held = stream.read()
        except FileNotFoundError:
            return [], True
        whole = held[: held.rfind(b"\n") + 1]
        self._place += len(whole)
        return list(_records(self._path, whole.splitlines(keepends=True))), anew


class Following:
    """Says what is appended to a history since it was last asked."""

    def __init__(self, path: Path, after: Instant | None) -> None:
        self._appended = _Appended(path)
        self.after = after

    def read(self) -> list[BatchRecord]:
        """The records that are new."""
        found, _ = self._appended.read()
        new = [one for one in found if self.after is None or one.instant > self.after]
        self.after = new[-1].instant if new else self.after
        return new


class KnownHistory:
    """A history that is asked for often: of its file only what is new is read. Any thread may ask."""

    def __init__(self, path: Path) -> None:
        self._appended = _Appended(path)
        self._known: list[BatchRecord] = []
        self._lock = threading.Lock()

    def read(self) -> list[BatchRecord]:
        """All records, in order; none where there is no file."""
        with self._lock:
            found, anew = self._appended.read()
            if found or anew:
                self._known = found if anew else self._known + found
            return list(self._known)


def _records(path: Path, lines: Iterable[bytes]) -> Iterator[BatchRecord]:
    """The records of lines that were written to their ends, which is not all where a machine stopped."""
    for line in lines:
        if line.startswith(b"{") and line.endswith(b"}\n"):
            try:
                yield BatchRecord.of(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                shown = line[:_SHOWN].decode(errors="replace")
                raise DataError(
                    f"{path} is damaged: the line that begins with {shown!r} is not what a batch did. Remove that "
                    "line; nothing else depends on it.",
                    path=str(path),
                    reason=str(error),
                ) from error


def _line(record: BatchRecord) -> str:
    return json.dumps(record.to_dict()) + "\n"
