"""Where things are in the folder of a watch."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from refute.errors import DataError, ended


@dataclass(frozen=True, slots=True)
class WatchPlaces:
    """The folders and files of one watch."""

    folder: Path

    @property
    def state(self) -> Path:
        """Rows, indexes and violations, with the log of commits."""
        return self.folder / "state"

    @property
    def shards(self) -> Path:
        """Rows that tasks have, where they are not in the state itself."""
        return self.folder / "shards"

    @property
    def checkpoint(self) -> Path:
        """What Spark remembers of the stream."""
        return self.folder / "checkpoint"

    @property
    def violations(self) -> Path:
        """A link to the newest table of violations."""
        return self.folder / "violations"

    @property
    def tables(self) -> Path:
        """The newest tables of violations, a folder each."""
        return self.folder / "tables"

    @property
    def pairs(self) -> Path:
        """The feed of violations that came and went, a file for each batch."""
        return self.folder / "feed" / "pairs"

    @property
    def rows(self) -> Path:
        """The same by row."""
        return self.folder / "feed" / "rows"

    @property
    def history(self) -> Path:
        """What each batch did, a line each."""
        return self.folder / "batches.jsonl"

    @property
    def posted(self) -> Path:
        """The state of each rule that was posted last."""
        return self.folder / "posted.json"

    @property
    def printed(self) -> Path:
        """The last batch whose line the command has printed."""
        return self.folder / "printed.json"

    def query(self) -> str | None:
        """The id that Spark has given the stream; None before it has."""
        path = self.checkpoint / "metadata"
        try:
            return str(json.loads(path.read_text(encoding="utf-8"))["id"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} cannot be read: {ended(str(error))}", path=str(path), reason=str(error)) from error

    def plan(self, batch: int) -> str | None:
        """What stands for the rows that Spark has planned for a batch, before it gives them; None where it has not."""
        path = self.checkpoint / "offsets" / str(batch)
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"{path} cannot be read: {ended(str(error))}", path=str(path), reason=str(error)) from error

    def batches_done(self) -> int:
        """The last batch that Spark has as taken; -1 before the first."""
        folder = self.checkpoint / "commits"
        names = os.listdir(folder) if folder.is_dir() else []
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def make(self) -> None:
        """Makes the folders that are not there yet."""
        for folder in (self.tables, self.pairs, self.rows):
            os.makedirs(folder, exist_ok=True)
