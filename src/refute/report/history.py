"""Results of earlier checks in a folder: a Parquet file a run, with one row per rule."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow as pa

from refute.errors import DataError
from refute.faults import unreadable, unwritable
from refute.language.addresses import local_path
from refute.report.forms.as_table import table_of
from refute.version import __version__
from refute.writing import replacing

if TYPE_CHECKING:
    from refute.report.report import Report

_SUFFIX = ".parquet"
_MOST_RUNS = 200  # that are read: those of the longest trend that a picture shows


class PastRun(NamedTuple):
    """What one check found about one rule."""

    time: str
    state: str
    violations: int | None
    rows: int | None


class PastRuns(Protocol):
    """Whatever knows results of the past."""

    def runs(self, data: str, rules: Sequence[str]) -> Mapping[str, Sequence[PastRun]]:
        """The latest runs over data of this name, oldest first, by rule."""
        ...


@dataclass(frozen=True, slots=True)
class History:
    """The runs in a folder, which is made when the first is added."""

    folder: Path

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> History:
        """The history in a folder."""
        return cls(local_path(folder))

    def add(self, report: Report) -> None:
        """Write the results of a report as a file of their own: two checks at once do not meet."""
        from pyarrow import parquet as pq

        moment = report.data.time
        found = table_of(report)
        beside = {
            "time": pa.array([moment] * len(report), pa.timestamp("us", "UTC")),
            "data": pa.array([report.data.name] * len(report), pa.string()),
            "data_rows": pa.array([report.data.rows] * len(report), pa.int64()),
            "engine": pa.array([report.data.engine] * len(report), pa.string()),
            "refute": pa.array([__version__] * len(report), pa.string()),
        }
        table = pa.table({**beside, **dict(zip(found.column_names, found.columns, strict=True))})
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(str(self.folder), error.strerror or str(error)) from error
        name = f"{moment:%Y%m%dT%H%M%S}{moment.microsecond:06d}Z-{secrets.token_hex(4)}{_SUFFIX}"
        with replacing(self.folder / name) as draft:
            pq.write_table(table, str(draft))

    def runs(self, data: str, rules: Sequence[str]) -> dict[str, list[PastRun]]:
        """The latest runs over data of this name, oldest first, by rule; only rules that were checked then."""
        from pyarrow import parquet as pq

        found: dict[str, list[PastRun]] = {name: [] for name in rules}
        for file in self._files():
            try:
                table = pq.read_table(file, columns=["time", "data", "rule", "state", "violations", "rows"])
            except (pa.ArrowException, OSError, KeyError) as error:
                raise unreadable(str(file), "It is not a file of a history. Move it elsewhere.") from error
            for line in table.to_pylist():
                if line["data"] == data and line["rule"] in found:
                    count = None if line["violations"] is None else int(line["violations"])
                    found[line["rule"]].append(
                        PastRun(line["time"].isoformat()[:19], line["state"], count, line["rows"])
                    )
        return found

    def _files(self) -> list[Path]:
        """The files of the latest runs, oldest first: their names begin with the time."""
        if not self.folder.exists():
            return []
        if not self.folder.is_dir():
            raise DataError(f"{self.folder} is a file, and a history is a folder.", path=str(self.folder))
        names = sorted(
            file for file in self.folder.iterdir() if file.suffix == _SUFFIX and not file.name.startswith(".")
        )
        return names[-_MOST_RUNS:]
