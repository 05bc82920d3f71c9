"""Tasks of a watch in this process: what Spark would run, one after the other, as many as it would at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.watching.shards.step import BatchStep, Message, tasks_of


@dataclass
class TasksHere:
    """A runner of so many tasks, whose messages pass through bytes as with Spark."""

    tasks: int = 2
    shared: bool = True

    def schema(self, rows: pa.Table) -> pa.Schema:
        """The columns of rows."""
        return rows.schema

    def sees(self, folder: Path) -> bool:
        """Whether the folder is seen."""
        return self.shared

    def run(self, step: BatchStep, rows: Any) -> list[bytes]:
        """The reports of a step."""
        if step.stored is not None:
            sent = [one for number in range(len(step.stored[0])) for one in step.sent_again(number)]
        else:
            half = len(rows) // 2
            parts = enumerate((rows.slice(0, half), rows.slice(half)))
            sent = [one for number, part in parts for one in step.sent(part, number)]
        if step.direct:
            return [one for messages in self._tasks(sent) for one in step.taken(messages)]
        kept = [one for messages in self._tasks(sent) for one in step.kept(messages)]
        return [one for messages in self._tasks(kept) for one in step.met(messages)]

    def _tasks(self, messages: Iterable[Message]) -> Iterator[dict[int, list[bytes]]]:
        """The messages of each task, by shard."""
        found: list[dict[int, list[bytes]]] = [defaultdict(list) for _ in range(self.tasks)]
        for shard, data in messages:
            for task in tasks_of(shard, self.tasks):
                found[task][shard].append(data)
        return iter(found)
