"""Which batches have their line: each that is committed gets one, from the command that took it or from the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from refute.writing import write_text

if TYPE_CHECKING:
    from refute.watching.records import BatchRecord, Instant


class Printed:
    """Prints a line for each batch once, also across calls of the command; twice if it was killed while it printed."""

    def __init__(self, path: Path, tell: Callable[[BatchRecord], None]) -> None:
        self._path = path
        self._tell = tell
        self._last: Instant | None = None
        self.count = 0

    def begin(self, last: Instant | None) -> Instant | None:
        """The batch, or change of rules, after which lines are due, given the last one taken; in a new folder that one.

        Nothing may be taken before this has returned, as nobody would know that its line is due.
        """
        from refute.watching.records import Instant

        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))["last"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            self._last = last
            self._write()
        else:
            self._last = None if known is None or last is None else min(Instant(*known), last)
        return self._last

    def tell(self, records: Iterable[BatchRecord]) -> None:
        """Print the lines that are due."""
        for record in records:
            if self._last is None or record.instant > self._last:
                self._tell(record)
                self._last = record.instant
                self.count += 1
                self._write()

    def _write(self) -> None:
        write_text(self._path, json.dumps({"last": self._last}) + "\n")
