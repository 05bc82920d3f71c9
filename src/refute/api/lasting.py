"""What a monitor and a tracker share: a life in a folder, and an end."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from refute.durable.directory import Directory, Keepable, Sort
from refute.errors import OptionError, whole_number
from refute.faults import needing, wrong_value
from refute.language.addresses import local_path

if TYPE_CHECKING:
    import pandas

Held = TypeVar("Held", bound=Keepable)


class Lasting(ABC, Generic[Held]):
    """Something that changes batch by batch, in memory alone or in a folder too."""

    _sort: Sort[Held]
    _start_hint: str  # how one on disk is begun

    def _begin(self, directory: Directory[Held] | None = None) -> None:
        self._lock = threading.RLock()
        self._directory = directory
        self._closed = False

    @abstractmethod
    def _to_keep(self) -> Held:
        """What the folder holds, as it is now."""

    @abstractmethod
    def table(self) -> Any:
        """All rows."""

    def to_pandas(self) -> pandas.DataFrame:
        """All rows, as a pandas DataFrame."""
        with needing("to_pandas()"):
            rows = self.table()
            return rows.to_pandas() if hasattr(rows, "to_pandas") else rows.toPandas()

    def commit(self) -> None:
        """Writes all changes since the last commit to disk; once this returns, they survive a crash."""
        with self._lock:
            self._in_use()
            if self._directory is None:
                noun = self._sort.noun
                raise OptionError(f"This {noun} is in memory only. Use {self._start_hint} for one on disk.", type=noun)
            self._directory.commit(self._to_keep())

    def close(self) -> None:
        """Releases the folder, without a commit. All can still be queried, but not changed."""
        with self._lock:
            if not self._closed and self._directory is not None:
                self._directory.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None and self._directory is not None and not self._closed:
                self.commit()
        finally:
            self.close()

    def _in_use(self) -> None:
        if self._closed:
            raise OptionError(f"The {self._sort.noun} is closed. Open it again.", type=self._sort.noun)


def folder_of(folder: str | os.PathLike[str], noun: str, log_rows: int) -> tuple[Path, int]:
    """The folder on this machine for a monitor or a tracker, and its limit of logged rows, once both are possible."""
    log_rows = whole_number("log_rows", log_rows)
    if log_rows < 0:
        raise wrong_value("log_rows", "0 or more", log_rows)
    return local_path(folder, f"A {noun} needs a folder on this machine."), log_rows
