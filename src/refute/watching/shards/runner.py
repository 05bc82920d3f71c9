"""Who runs the tasks of a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from refute.watching.shards.tasks import BatchStep


class Runner(Protocol):
    """Runs the tasks of a step over rows, wherever these are: a table of Arrow, or what it knows how to read."""

    @property
    def tasks(self) -> int:
        """How many tasks run at once."""
        ...

    def schema(self, rows: Any) -> pa.Schema:
        """The columns and types of rows."""
        ...

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """Runs all tasks of a step; the files that the last ones left. Rows are None where a step reads its own."""
        ...

    def sees(self, folder: Path) -> bool:
        """Whether all that run tasks see a folder of this process."""
        ...
