"""The position of every row in the files it comes from: the same for any cut into tasks, run or retry.

Parquet gives each row's number in its file; that none is missing is seen by counting. Other files are read in blocks,
each by one task from its first row to its last, so within a block Spark's running ids are consecutive: one pass
learns the first id and the number of rows of each block. Should Spark later cut the files in another way, the first
row that shows it ends the job with an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from refute.errors import DataError
from refute.relation.read.formats import in_order
from refute.spark.session.failures import LAYOUT_CHANGED, plain_failures
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import RESERVED

FILE, BLOCK, ID, TASK, SHIFT = (RESERVED + name for name in ("file", "block", "id", "task", "shift"))
_FILE_ROWS = 33  # bits of a running id that number the rows of a task


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The blocks of the input in order: file, first byte, first running id and number of rows of each."""

    blocks: tuple[tuple[str, int, int, int], ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> FileLayout:
        """The layout that rows of FILE, BLOCK, `first`, `last` and `n` describe; raises DataError for a file that is
        read twice."""
        for row in rows:
            if row["last"] - row["first"] + 1 < row["n"] or (row["last"] ^ row["first"]) >> _FILE_ROWS:
                file = unquote(str(row[FILE])).removeprefix("file://")
                raise DataError(
                    f"{file!r} is read more than once, so positions do not identify rows. Name each file once, or the "
                    "columns that identify a row, as in key=['id'].",
                    path=file,
                )
        blocks = [(str(row[FILE]), int(row[BLOCK]), int(row["first"]), int(row["n"])) for row in rows]
        return cls(tuple(sorted(blocks, key=lambda block: (in_order(unquote(block[0])), block[1]))))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(n for *_, n in self.blocks)

    def table(self) -> pa.Table:
        """The blocks with the task that reads them, and what to add to a running id to have the position."""
        before, rows = 0, []
        for file, block, first, n in self.blocks:
            rows.append({FILE: file, BLOCK: block, TASK: first >> _FILE_ROWS, SHIFT: before - first})
            before += n
        schema = pa.schema([(FILE, pa.string()), (BLOCK, pa.int64()), (TASK, pa.int64()), (SHIFT, pa.int64())])
        return pa.Table.from_pylist(rows, schema=schema)


def located(frame: DataFrame) -> DataFrame:
    """The frame of a file scan with the file, the block and the running id of each row."""
    place = frame.metadataColumn("_metadata")
    return frame.select(
        "*",
        place.getField("file_path").alias(FILE),
        place.getField("file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(ID),
    )


def block_facts() -> list[Column]:
    """The aggregates by FILE and BLOCK that a layout is made of."""
    return [F.min(ID).alias("first"), F.max(ID).alias("last"), F.count(F.lit(1)).alias("n")]


def layout_of(frame: DataFrame, kind: str) -> FileLayout:
    """The layout of a file scan, in one pass that reads no column; each Parquet file is one block.

    Raises DataError where rows of a Parquet file are missing from the frame, as those are that a table format takes
    for deleted: the rows that are there would then share their numbers with those of the next file.
    """
    with plain_failures():
        if kind != "parquet":
            return FileLayout.of(located(frame).groupBy(FILE, BLOCK).agg(*block_facts()).collect())
        place = frame.metadataColumn("_metadata")
        rows = frame.select(place.getField("file_path").alias(FILE), place.getField("row_index").alias(ID))
        facts = [F.lit(0).alias(BLOCK), *block_facts()]
        files = rows.groupBy(FILE).agg(*facts).collect()
    for file in files:
        if file["first"] != 0 or file["last"] > file["n"] - 1:
            raise DataError(
                f"Some rows of {file[FILE]!r} are hidden from the table, which has {file['n']:,} of its rows up to row "
                f"{file['last']:,}, so positions do not identify rows. Name the columns that do, as in key=['id'].",
                path=file[FILE],
            )
    return FileLayout.of(files)


def with_row_numbers(frame: DataFrame, name: str) -> DataFrame:
    """The scan of a single Parquet file with one more column: the number of each row, which such a file gives."""
    return frame.select("*", frame.metadataColumn("_metadata").getField("row_index").alias(name))


def with_positions(frame: DataFrame, kind: str, layout: FileLayout, name: str) -> DataFrame:
    """The frame of a file scan with one more column: the position of each row."""
    if kind == "parquet" and len(layout.blocks) <= 1:
        return with_row_numbers(frame, name)
    blocks = F.broadcast(frame_of(layout.table(), frame.sparkSession))
    user = [F.col(f"l.`{column.replace('`', '``')}`") for column in frame.columns]
    if kind == "parquet":
        place = frame.metadataColumn("_metadata")
        rows = frame.select("*", place.getField("file_path").alias(FILE), place.getField("row_index").alias(ID))
        same = F.col(f"l.{FILE}") == F.col(f"r.{FILE}")
        position = F.col(ID) + F.col(SHIFT)
    else:
        rows = located(frame)
        same = (F.col(f"l.{FILE}") == F.col(f"r.{FILE}")) & (F.col(f"l.{BLOCK}") == F.col(f"r.{BLOCK}"))
        task = F.shiftright(F.col(ID), _FILE_ROWS)
        position = F.when(task == F.col(TASK), F.col(ID) + F.col(SHIFT))
    checked = F.coalesce(position, F.raise_error(F.lit(LAYOUT_CHANGED)).cast("bigint"))
    return rows.alias("l").join(blocks.alias("r"), same, "left").select(*user, checked.alias(name))
