"""What the folder of a watch says of its shards: which there are, and which files they are in."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.durable.log import Commit
from refute.durable.shelf import Entry, Shelf
from refute.errors import DataError
from refute.language.rulebook import Rule
from refute.live.saved import read_rules, schema_of, schema_text, write_rules
from refute.watching.shards.exchange import SUFFIX as STEP
from refute.watching.shards.files import SUFFIX, ShardFiles, not_written
from refute.watching.shards.shard_layout import ShardLayout, ShardShape
from refute.watching.shards.tasks import ShardReport

SHARDS = "shards"
_OLD = 8  # commits for which files are kept that no commit since has named: for readers, and for tasks that still run


@dataclass(slots=True)
class KeptShards:
    """Rows in shards as of a commit, and the violations of each rule by number."""

    rules: tuple[Rule, ...]
    key: tuple[str, ...]
    most: int
    schema: pa.Schema | None  # None before the first rows have come
    layout: ShardLayout
    files: list[ShardFiles]
    counts: dict[str, int]
    listed: set[str]  # rules whose violations are in the table of violations
    version: int
    told: Entry
    changed: set[int] = field(default_factory=set)  # shards, since the last commit

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(files.rows for files in self.files[: self.layout.keepers])

    @property
    def n_bytes(self) -> int:
        """The bytes of all that shards are in."""
        return sum(region.length for files in self.files for region in files.regions)

    def take_key(self, key: tuple[str, ...]) -> None:
        """Identifies rows by other columns, before the first have come."""
        self.key, self.version = key, self.version + 1
        self.layout = ShardLayout.of(self.layout.name, self.rules, key, self.layout.shape)

    def put(self, reports: Iterable[ShardReport]) -> None:
        """Takes in where shards are now."""
        for report in reports:
            self.files[report.shard] = report.files
            self.changed.add(report.shard)

    @property
    def facts(self) -> Entry:
        """What a commit says: rows, violations, and the shards that have changed."""
        changed = {str(shard): self.files[shard].to_list() for shard in sorted(self.changed)}
        counts = {name: str(count) for name, count in self.counts.items()}
        said = {"layout": self.layout.name, "changed": changed, "listed": sorted(self.listed)}
        return {
            **self.told,
            "n_rows": self.n_rows,
            "counts": counts,
            SHARDS: said,
            "schema": self._schema_text,
        }

    @property
    def _schema_text(self) -> str | None:
        return None if self.schema is None else schema_text(self.schema)

    def beside(self) -> bytes:
        """Nothing: facts say all."""
        return b""

    def moment(self) -> ShardsMoment:
        """All of it, as it is now."""
        body = {
            "version": self.version,
            "key": list(self.key),
            "method": "auto",
            "most": self.most,
            "schema": self._schema_text,
            SHARDS: {
                "layout": self.layout.name,
                "shape": self.layout.shape.to_dict(),
                "files": [files.to_list() for files in self.files],
                "listed": sorted(self.listed),
            },
        }
        counts = {name: str(count) for name, count in self.counts.items()}
        return ShardsMoment(self.rules, body, {**self.told, "n_rows": self.n_rows, "counts": counts})

    def replay(self, commit: Commit) -> None:
        """Takes in what a commit says."""
        facts = commit.facts
        self.told = {name: facts[name] for name in self.told if name in facts}
        for shard, files in facts[SHARDS]["changed"].items():
            self.files[int(shard)] = ShardFiles.of(files)
        self.listed = set(facts[SHARDS]["listed"])
        self.counts = {name: int(count) for name, count in facts["counts"].items()}
        self.schema = None if facts["schema"] is None else schema_of(facts["schema"])
        self.version += 1

    def committed(self) -> None:
        """Hears that it is on the disk as it is now."""
        self.changed.clear()

    @classmethod
    def restored(cls, body: Entry, folder: Path, told: Sequence[str]) -> KeptShards:
        """What a manifest says."""
        rules, key, said = read_rules(folder, body["rules"]), tuple(body["key"]), body[SHARDS]
        return cls(
            rules,
            key,
            body["most"],
            None if body["schema"] is None else schema_of(body["schema"]),
            ShardLayout.of(said["layout"], rules, key, ShardShape.of(said["shape"])),
            [ShardFiles.of(files) for files in said["files"]],
            {name: int(count) for name, count in body["counts"].items()},
            set(said["listed"]),
            body["version"],
            {name: body[name] for name in told},
        )


@dataclass(frozen=True, slots=True)
class ShardsMoment:
    """What a manifest will say of shards."""

    rules: tuple[Rule, ...]
    body: Entry
    facts: Entry

    def write(self, shelf: Shelf) -> Entry:
        """Writes the rules; files of shards are there already."""
        return {**self.body, "rules": shelf.file(self.rules, "rules", write_rules, "yaml")}


def refuse_missing(folder: Path, reports: Sequence[ShardReport]) -> None:
    """Raises an error where a file that a task has written is not here: tasks and this process see other folders."""
    for path, _ in _lacking(folder, (report.files for report in reports)):
        raise not_written(path)


def refuse_lacking(folder: Path, kept: KeptShards) -> None:
    """Raises DataError where a file that shards are in is missing, or ends too early. What is in it is not read."""
    for path, length in _lacking(folder, kept.files):
        what = "is missing" if length is None else "is damaged: it ends too early"
        raise DataError(f"{path} {what}; the watch cannot go on without it. Restore it from a copy.", path=str(path))


def _lacking(folder: Path, files: Iterable[ShardFiles]) -> Iterator[tuple[Path, int | None]]:
    """Files of shards that are not there, or not to the end of what is in them, and how long they are."""
    needed: dict[str, int] = {}
    for own in files:
        for region in own.regions:
            needed[region.file] = max(needed.get(region.file, 0), region.start + region.length)
    for name, end in sorted(needed.items()):
        path = folder / name
        length = path.stat().st_size if path.exists() else None
        if length is None or length < end:
            yield path, length


def swept(folder: Path, kept: KeptShards | None, version: int) -> None:
    """Removes files of shards that no commit of late has named."""
    named = {region.file for files in kept.files for region in files.regions} if kept is not None else set[str]()
    for path in folder.glob(f"*{SUFFIX}"):
        number: Any = path.name.partition("-")[0]
        if path.name not in named and number.isdigit() and int(number) < version - _OLD:
            path.unlink(missing_ok=True)
    for path in folder.glob(f"*{STEP}"):  # of tasks that are over, or whose driver is
        shutil.rmtree(path, ignore_errors=True)
