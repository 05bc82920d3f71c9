"""The files of the table of violations, and the history of batches as those read it who ask often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from refute.watching.publishing.ledger import Ledger, LedgerTuning, Turn
from refute.watching.publishing.table_parts import Longs, PairMarks, lines_of, lines_schema
from refute.watching.records import BatchHistory, BatchRecord, KnownHistory, RuleRecord, read_history

SCHEMA = lines_schema({"id": pa.int64()})
NOTHING: Longs = np.empty(0, np.int64)


def marks_of(rows: Longs) -> PairMarks:
    """The violations of which these rows are `s`, one each."""
    return PairMarks(np.zeros(len(rows), np.int64), rows, rows + 1000)


def found(lines: pa.Table, side: str) -> Longs:
    """The number of each row, which is its key."""
    return np.asarray(lines.column(f"{side}_id"))


class Written:
    """A table of violations, as batches write it."""

    def __init__(self, folder: Path, tuning: LedgerTuning) -> None:
        states = folder / "tables"
        states.mkdir()
        self.link = folder / "violations"
        self._ledger = Ledger(states, self.link, ["rule"], tuning)
        self._batch = 0

    def take(self, came: Longs, went: Longs) -> list[int]:
        """Rows whose violation comes, and those of one that goes; how many lines the files of open ones have."""
        clashes = pa.table({"s": came, "t": came + 1000, "s_id": came, "t_id": came + 1000})
        added = [(lines_of("rule", clashes, SCHEMA, self._batch), marks_of(came))]
        turn = Turn(self._batch, added if len(came) else [], marks_of(went), went, (NOTHING, NOTHING))
        self._ledger.show(self._ledger.write(turn, SCHEMA, found))
        self._batch += 1
        return [parquet.read_metadata(path).num_rows for path in sorted(self.link.glob("open-*"))]

    def rows(self) -> list[int]:
        """The rows whose violation is open."""
        lines = parquet.read_table(self.link).to_pylist()
        assert all(one["t"] == one["s"] + 1000 for one in lines)
        return sorted(one["s"] for one in lines if one["until"] is None)


def test_files_get_wider_where_most_lose_lines_and_smaller_where_few_do(tmp_path: Path) -> None:
    written = Written(tmp_path, LedgerTuning(piece=8, wider=4, closed_piece=1 << 10))
    assert written.take(np.arange(64), NOTHING) == [8] * 8
    assert max(written.take(NOTHING, np.arange(0, 64, 8))) == 28  # four of seven lines each
    assert written.rows() == [row for row in range(64) if row % 8]
    more = np.arange(64, 96)
    written.take(more, NOTHING)
    sizes = written.take(NOTHING, np.array([1]))  # which is in one of the wide ones, among six files
    assert sorted(sizes) == [3, *[8] * 7, 28]
    assert written.rows() == [row for row in range(2, 96) if row % 8 or row >= 64]


def record_of(batch: int) -> BatchRecord:
    """What a batch did."""
    return BatchRecord(batch, "now", 1, 1, 0.5, (RuleRecord("rule", 1, 0, 1, True),))


def test_a_history_that_is_asked_for_again_is_what_its_file_says(tmp_path: Path) -> None:
    path = tmp_path / "batches.jsonl"
    known, history = KnownHistory(path), BatchHistory(path)
    assert known.read() == []
    for batch in range(5):
        history.append(record_of(batch))
        assert known.read() == read_history(path)
    first = known.read()
    first.clear()
    assert [one.batch for one in known.read()] == list(range(5))
    with open(path, "a", encoding="utf-8") as stream:
        stream.write('{"batch": 5, ')
    assert len(known.read()) == 5
    again = BatchHistory(path)
    again.mend(record_of(6).to_dict(), 6)  # which writes another file
    assert [one.batch for one in known.read()] == [0, 1, 2, 3, 4, 6]
    path.unlink()
    assert known.read() == []
