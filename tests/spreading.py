"""Tasks of a watch in this process: what Spark would run, one after the other, as many as it would at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.watching.shards.tasks import BatchStep


@dataclass
class TasksHere:
    """A runner of so many tasks."""

    tasks: int = 2
    shared: bool = True

    def schema(self, rows: pa.Table) -> pa.Schema:
        """The columns of rows."""
        return rows.schema

    def sees(self, folder: Path) -> bool:
        """Whether the folder is seen."""
        return self.shared

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """The files of reports of a step."""
        sent = self.sent(step, rows)
        if step.direct:
            return [step.take(task, sent) for task in range(self.tasks)]
        kept = [step.keep(task, sent) for task in range(self.tasks)]
        return [step.meet(task, kept) for task in range(self.tasks)]

    def sent(self, step: BatchStep, rows: Any) -> list[str]:
        """The files of the rows that are sent."""
        if step.stored is not None:
            return [step.send_again(number) for number in range(len(step.stored[0]))]
        half = len(rows) // 2
        return [step.send(part, number) for number, part in enumerate((rows.slice(0, half), rows.slice(half)))]
