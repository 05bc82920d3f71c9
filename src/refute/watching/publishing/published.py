"""What readers see of a watch: the table of violations, the feed, and a line for each batch.

All of it is written before the commit that it belongs to, and shown after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from refute.durable.shelf import Entry
from refute.watching.outcome import BatchOutcome
from refute.watching.places import WatchPlaces
from refute.watching.publishing.feeds import Feeds
from refute.watching.publishing.ledger import Ledger, LedgerTuning
from refute.watching.records import BatchHistory, BatchRecord, Instant

NEW: dict[str, Any] = {"table": None, "lines": None, "feed": None, "last": None, "records": 0, "rule_changes": 0}


class Published:
    """The files that readers see, in the folder of a watch."""

    def __init__(self, places: WatchPlaces, key: Sequence[str], rules: Sequence[str], tuning: LedgerTuning) -> None:
        self.table = Ledger(places.tables, places.violations, rules, tuning)
        self._feeds = Feeds(places, key)
        self._history = BatchHistory(places.history)

    def open(self, told: Entry) -> None:
        """Has them as the last commit says, which a killed process may not have shown."""
        self.table.open(told["table"], told["lines"])
        self._feeds.open(told["feed"])
        self._history.mend(told["last"], told["records"])

    def written(
        self, told: Entry, table: str, outcomes: Sequence[BatchOutcome], schema: pa.Schema, record: BatchRecord
    ) -> Entry:
        """What a commit says of the table and the feed, which is written by this, and of a record."""
        feed = self._feeds.write(record.instant, outcomes, schema)
        last, records = record.to_dict(), told["records"] + 1
        return {**told, "table": table, "lines": self.table.lines, "feed": feed, "last": last, "records": records}

    def show(self, told: Entry) -> None:
        """Lets readers see what was committed."""
        if told["table"] is not None:
            self.table.show(told["table"])
        self._feeds.show(told["feed"])
        self._history.append(BatchRecord.of(told["last"]))


def next_change(told: Entry) -> Instant:
    """When rules change that are watched."""
    batch: int | None = told["batch"]
    return Instant(-1 if batch is None else batch, told["rule_changes"] + 1)
