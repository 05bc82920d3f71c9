"""A folder that holds what changes batch by batch: opened by one writer at a time, committed to, and tidied."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from refute.durable.lock import Lock, cannot_keep, locked
from refute.durable.log import START, Commit, Log, Logged, Tail, read_log, sync_folder
from refute.durable.manifest import NAME as MANIFEST
from refute.durable.manifest import bytes_of, entries_of, read_manifest, write_manifest
from refute.durable.shelf import Entry, Moment, Shelf
from refute.errors import DataError, EngineError, OptionError, ended

LOGGED_ROWS = 1 << 16  # rows in logs from which a state is written, so opening has no more to carry out again
LOGGED_BYTES = 1 << 26  # the same in bytes, or half of those of the state before if that is more
_DRAFT = re.compile(r"\.(manifest\.json|[a-z]+-\d+\.(yaml|frames))-[0-9a-f]+\.part$")
_SEALED = "sealed"  # the fact that says how many commits there were when the folder was last closed
_BEGUN = "begun"  # is there from before the first file until the first manifest stands


class Keepable(Protocol):
    """What a folder holds, as the one who changes it has it."""

    @property
    def version(self) -> int:
        """How many changes it has had."""
        ...

    @property
    def facts(self) -> Entry:
        """What a look from outside shows."""
        ...

    def beside(self) -> bytes | None:
        """What changes of rows do not show since the last commit, as an Arrow stream; None to have all of it written.

        Empty where rows show everything.
        """
        ...

    def moment(self) -> Moment:
        """All of it, as it is now."""
        ...

    def replay(self, commit: Commit) -> None:
        """Carries out what a commit did."""
        ...

    def committed(self) -> None:
        """Hears that it is on the disk as it is now."""
        ...


Held = TypeVar("Held", bound=Keepable)


@dataclass(frozen=True, slots=True)
class Sort(Generic[Held]):
    """What may be in a folder: what it is called, how its files begin, and how it comes back from a manifest."""

    noun: str
    files: tuple[str, ...]
    restored: Callable[[Entry, Shelf, bool], Held]

    def owns(self, name: str) -> bool:
        """Whether a file of this name is one of its own."""
        return re.fullmatch(rf"({'|'.join((*self.files, 'log'))})-\d+\.(arrow|yaml|frames)", name) is not None


class Directory(Generic[Held]):
    """The files of one folder. Its methods are called by one thread at a time."""

    def __init__(self, folder: Path, sort: Sort[Held], lock: Lock, shelf: Shelf, log: Log, log_rows: int) -> None:
        self.folder = folder
        self._sort = sort
        self._lock = lock
        self._shelf = shelf
        self._log = log
        self._log_rows = log_rows
        self._pending: list[tuple[int, Logged]] = []  # with the version of the state after each
        self._rows = self._bytes = 0
        self._body: Entry | None = None  # of the manifest that stands
        self._writer: threading.Thread | None = None
        self._failure: BaseException | None = None

    @classmethod
    def create(cls, folder: Path, sort: Sort[Held], kept: Held, *, log_rows: int = LOGGED_ROWS) -> Directory[Held]:
        """A folder with what has not been in one yet."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        except OSError as error:
            raise cannot_keep(folder, sort.noun, error) from error
        lock = locked(folder, sort.noun)
        try:
            _refuse_others(folder, sort)
            with _explained(folder):
                _begin(folder)
                log = Log.create(folder / _log_name(0), 0, 0, kept.version)
            found = cls(folder, sort, lock, Shelf(folder), log, log_rows)
        except BaseException:
            lock.release()
            raise
        try:
            found._write(kept.moment(), 0, 0)
            kept.committed()
        except BaseException:
            found.close()
            raise
        return found

    @classmethod
    def open(
        cls, folder: Path, sort: Sort[Held], *, verify: bool, log_rows: int = LOGGED_ROWS
    ) -> tuple[Directory[Held], Held]:
        """What a folder holds, as of the last commit that was acknowledged."""
        read_manifest(folder, sort.noun)  # whether there is one at all, before a lock is made
        lock = locked(folder, sort.noun)
        try:
            body = read_manifest(folder, sort.noun)
            shelf = Shelf(folder, body["next_file"])
            kept = sort.restored(body, shelf, verify)
            commits, newest, rows, size = body["commits"], body["log"], 0, 0
            for number, frames, end in _read_logs(folder, sort, body):
                for frame in frames:
                    kept.replay(frame)
                    rows += sum(change.rows for change in frame.changes)
                    commits = frame.number
                newest, size = number, size + end
            kept.committed()
            with _explained(folder):
                log = Log(folder / _log_name(newest), newest, Tail(end, commits, kept.version))
            found = cls(folder, sort, lock, shelf, log, log_rows)
        except BaseException:
            lock.release()
            raise
        found._rows, found._bytes, found._body = rows, size, body
        found._sweep(body)
        return found, kept

    @property
    def commits(self) -> int:
        """How many commits there were."""
        return self._log.tail.commits

    def note(self, change: Logged, version: int) -> None:
        """Takes a change in that has given a version of the state, to be written by the next commit."""
        self._pending.append((version, change))

    def commit(self, kept: Held) -> None:
        """Brings all changes since the last commit to the disk. Once this returns, they outlive the process."""
        self._let_writer_go()
        self._tell_failure()
        tail = self._log.tail
        changes = [change for version, change in self._pending if version > tail.version]
        if kept.version != tail.version:
            beside = kept.beside() if len(changes) == kept.version - tail.version else None
            rows, size = sum(one.rows for one in changes), sum(one.table.nbytes for one in changes)
            if beside is None or self._is_most(rows, size):  # or other things have changed, or it was kept from us
                self._write_whole(kept)
            else:
                self._bytes += self._log.append(kept.version, kept.facts, changes, beside)
                self._rows += rows
            kept.committed()
        self._pending = []
        if self._writer is None and self._is_due(self._rows, self._bytes):
            self._start(kept)

    def _is_due(self, rows: int, size: int) -> bool:
        """Whether logs of so much are due to be written as a state; a large one is not for every few batches."""
        return rows > self._log_rows or (size > LOGGED_BYTES and 2 * size > bytes_of(self._body))

    def _is_most(self, rows: int, size: int) -> bool:
        """Whether a state is due with changes that are more than all that is written: in a log, they would be twice."""
        return self._is_due(self._rows + rows, self._bytes + size) and size > bytes_of(self._body) + self._bytes

    def close(self) -> None:
        """Waits for what is being written, and lets the folder go. What was not committed is gone."""
        self._wait()
        self._seal()
        self._log.close()
        self._lock.release()

    def _seal(self) -> None:
        """Has the manifest say how many commits there are: a log that has fewer from then on was cut short."""
        body = self._body
        if body is not None and self.commits > max(body["commits"], body.get(_SEALED, 0)):
            with contextlib.suppress(OSError, OptionError):  # logs have all there is
                write_manifest(self.folder, {**body, _SEALED: self.commits})

    def _begin_log(self) -> None:
        """Goes on in a new log, unless nothing is in this one."""
        before = self._log
        if before.tail.length > START:
            number, path = before.number + 1, self.folder / _log_name(before.number + 1)
            before.cut()  # once another follows, the whole log counts
            try:
                self._log = Log.create(path, number, before.tail.commits, before.tail.version)
            except BaseException:
                if self._log is before:
                    path.unlink(missing_ok=True)
                raise
            before.close()
        self._rows = self._bytes = 0

    def _write_whole(self, kept: Held) -> None:
        """Writes all there is, as a commit: what logs do not hold."""
        self._wait()
        commits = self.commits + 1
        with _explained(self.folder):
            self._begin_log()
            self._write(kept.moment(), self._log.number, commits)
        self._log.tail = self._log.tail._replace(commits=commits, version=kept.version)

    def _start(self, kept: Held) -> None:
        """Writes the state of this moment while work goes on. What fails is reported later: logs have all there is."""
        try:
            self._begin_log()
            moment, number, commits = kept.moment(), self._log.number, self.commits
        except (OSError, OptionError, MemoryError) as error:
            self._failure, self._rows, self._bytes = error, 0, 0
            return

        def run() -> None:
            try:
                self._write(moment, number, commits)
            except BaseException as error:  # noqa: BLE001
                self._failure = error

        writer = threading.Thread(target=run, name=f"refute {self._sort.noun}", daemon=False)
        try:
            writer.start()
        except RuntimeError as error:  # no more threads, or the interpreter is about to end
            self._failure = error
        else:
            self._writer = writer

    def _let_writer_go(self) -> None:
        if self._writer is not None and not self._writer.is_alive():
            self._writer.join()
            self._writer = None

    def _tell_failure(self) -> None:
        """Warns where a state could not be written. It is tried again when as much has come once more."""
        failure, self._failure = self._failure, None
        if failure is not None:
            warnings.warn(
                f"The logs of the {self._sort.noun} in {self.folder} could not be shortened: "
                f"{ended(str(failure))} Nothing is lost, but opening it takes longer. This is tried again as rows "
                "come.",
                RuntimeWarning,
                stacklevel=4,
            )

    def _wait(self) -> None:
        if self._writer is not None:
            self._writer.join()
        self._let_writer_go()

    def _write(self, moment: Moment, log: int, commits: int) -> None:
        """Writes a state and its manifest; raises EngineError where that fails, and leaves what was there."""
        try:
            with _explained(self.folder):
                body = self._shelf.write(moment)
                body |= {**moment.facts, "holds": self._sort.noun, "log": log, "commits": commits}
                write_manifest(self.folder, body)
        except BaseException:
            with contextlib.suppress(DataError):  # there is none yet
                self._sweep(read_manifest(self.folder, self._sort.noun))
            raise
        self._body = body
        self._shelf.keep()
        self._sweep(body)

    def _sweep(self, body: Entry) -> None:
        """Removes files that neither the manifest names nor a log from its first on is, and drafts."""
        named = {entry["file"] for entry in entries_of(body)}
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                own = self._sort.owns(path.name) or path.name == _BEGUN or _DRAFT.match(path.name)
                if path.name in named or not own:
                    continue
                if path.name.startswith("log-") and _log_number(path) >= body["log"]:
                    continue
                path.unlink(missing_ok=True)


def looked_at(folder: Path, sort: Sort[Held]) -> Held:
    """What a folder holds as of its last commit, for one who only looks: nothing is locked, and checksums are not read.

    Whoever has it open may put other files in the place of those that are read; then they are read anew.
    """
    body = read_manifest(folder, sort.noun)
    try:
        kept = sort.restored(body, Shelf(folder, body["next_file"]), False)
        for _, frames, _ in _read_logs(folder, sort, body):
            for frame in frames:
                kept.replay(frame)
    except DataError:
        if read_manifest(folder, sort.noun) == body:
            raise
        return looked_at(folder, sort)
    return kept


def last_told(folder: Path, sort: Sort[Any]) -> tuple[Entry, Entry, int, int]:
    """What a folder says of itself without being opened: its manifest, the facts as of its last commit, commits.

    The last number is how many of these commits are in logs.
    """
    body = read_manifest(folder, sort.noun)
    try:
        frames = [frame for _, found, _ in _read_logs(folder, sort, body) for frame in found]
    except DataError:
        if read_manifest(folder, sort.noun) == body:
            raise
        return last_told(folder, sort)  # one who has it open has removed what the manifest was about
    facts, commits = body, body["commits"]
    for frame in frames[-1:]:
        facts, commits = frame.facts, frame.number
    return body, facts, commits, len(frames)


def _log_name(number: int) -> str:
    return f"log-{number:06}.frames"


def _log_number(path: Path) -> int:
    return int(path.name.removeprefix("log-").removesuffix(".frames"))


def _read_logs(folder: Path, sort: Sort[Any], body: Entry) -> Iterator[tuple[int, list[Commit], int]]:
    """The logs that come after the state of a manifest: number, frames, end; raises DataError where commits lack."""
    commits = body["commits"]
    there = [_log_number(path) for path in folder.glob("log-*.frames") if sort.owns(path.name)]
    last = max([body["log"], *there])
    for number in range(body["log"], last + 1):
        path = folder / _log_name(number)
        frames, end = read_log(path, number, last=number == last)
        for frame in frames:
            commits += 1
            if frame.number != commits:
                raise DataError(f"{path} does not continue what was committed before.", path=str(path))
        if number == last and commits < body.get(_SEALED, 0):
            raise DataError(f"{path} is damaged at byte {end:,}: it ends too early.", path=str(path))
        yield number, frames, end


def _begin(folder: Path) -> None:
    """Marks a folder as one whose files mean nothing until a manifest stands."""
    os.close(os.open(folder / _BEGUN, os.O_CREAT | os.O_WRONLY, 0o666))
    sync_folder(folder)


def _refuse_others(folder: Path, sort: Sort[Any]) -> None:
    """Raises DataError for a folder that holds more than what was never begun to the end."""
    begun = (folder / _BEGUN).exists()
    for path in sorted(folder.iterdir()):
        if path.name in ("lock", _BEGUN) or _DRAFT.match(path.name) or (begun and sort.owns(path.name)):
            continue
        if path.name == MANIFEST:
            raise EngineError(
                f"Another process has just started a {sort.noun} in {folder}. Open it again.", path=str(folder)
            )
        if sort.owns(path.name):
            told = f"{folder / MANIFEST} is missing, but {path.name} of a {sort.noun} is there."
            raise DataError(told, path=str(path))
        raise DataError(
            f"{folder} is not empty and does not hold a {sort.noun}: it contains {path.name!r}.", path=str(path)
        )


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Raises what the disk refuses as EngineError."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"Cannot write to {folder}: {ended(error.strerror or str(error))} What is on disk is unchanged.",
            path=str(folder),
            reason=str(error.strerror or error),
        ) from error
    except OptionError as error:
        raise EngineError(f"{error} What is on disk is unchanged.", path=str(folder), reason=str(error)) from error
