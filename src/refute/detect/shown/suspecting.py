"""The rows to blame in a table in memory, by their ids, and the table without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from refute.detect.identity import Identity
from refute.detect.shown.marking import split_by_mask

if TYPE_CHECKING:
    from refute.blame.lines import SuspectFinding


class LocalSuspects:
    """What was found, with the ids and the kind of table that the user knows."""

    def __init__(self, table: Any, identity: Identity, finding: SuspectFinding) -> None:
        self._table = table
        self._identity = identity
        self._finding = finding
        self.key = identity.key
        self.notes: tuple[str, ...] = ()
        self._lines: pa.Table | None = None
        self.n_rows = finding.n_rows
        self.n_suspects = finding.n_suspects
        self.bound = finding.bound
        self.blamed = finding.blamed

    def table(self) -> pa.Table:
        """One line for each row and rule that blames it."""
        if self._lines is None:
            self._lines = self._finding.table(self._identity.many)
        return self._lines

    def split(self) -> tuple[Any, Any]:
        """The rows that stay, and the suspects with one more column: a list of why each is one."""
        _, reasons = self._finding.reasons()
        return split_by_mask(self._table, self._finding.relation, self._finding.blame.suspects, reasons)
