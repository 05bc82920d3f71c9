"""Which batches have been told of: each one that is committed is, by the command that took it or by the next one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from refute.writing import write_text

if TYPE_CHECKING:
    from refute.watching.records import BatchRecord, Instant


class Printed:
    """Tells of each batch once, also across calls of the command; of one during which it was killed perhaps twice."""

    def __init__(self, path: Path, tell: Callable[[BatchRecord], None]) -> None:
        self._path = path
        self._tell = tell
        self._last: Instant | None = None
        self.count = 0

    def begin(self, last: Instant | None) -> Instant | None:
        """The batch after which batches are to be told of, where `last` was taken last; that one in a new folder.

        Nothing may be taken before this has returned, as it would not be known then that it was not told of.
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
        """Tells of those batches that nobody has told of."""
        for record in records:
            if self._last is None or record.instant > self._last:
                self._tell(record)
                self._last = record.instant
                self.count += 1
                self._write()

    def _write(self) -> None:
        write_text(self._path, json.dumps({"last": self._last}) + "\n")
