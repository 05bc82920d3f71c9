"""A folder that holds a monitor: opened by one writer at a time, committed to, and tidied while work goes on."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from refute.errors import DataError, EngineError, OptionError
from refute.live.durable.log import START, Commit, Log, Logged, Tail, read_log, sync_folder
from refute.live.durable.manifest import NAME as MANIFEST
from refute.live.durable.manifest import read_manifest, write_manifest
from refute.live.durable.saved import Moment, Shelf, restored
from refute.live.state import Change, State

LOGGED_ROWS = 1 << 16  # rows in logs from which a state is written, so opening has no more to carry out again
LOGGED_BYTES = 1 << 26
_OWN = re.compile(r"(rules|rows|alive|pairs|run|values|log)-\d+\.(arrow|yaml|frames)$")
_DRAFT = re.compile(r"\.(manifest\.json|rules-\d+\.yaml|log-\d+\.frames)-[0-9a-f]+\.part$")
_BEGUN = re.compile(r"(rules|alive)-\d+\.(arrow|yaml)$")  # with an empty log, all that is there before a manifest is


class Directory:
    """The files of one monitor. Its methods are called by one thread at a time."""

    def __init__(self, folder: Path, lock: _Lock, shelf: Shelf, log: Log, log_rows: int) -> None:
        self.folder = folder
        self._lock = lock
        self._shelf = shelf
        self._log = log
        self._log_rows = log_rows
        self._pending: list[tuple[int, Logged]] = []  # with the version of the state after each
        self._rows = self._bytes = 0
        self._writer: threading.Thread | None = None
        self._failure: BaseException | None = None

    @classmethod
    def create(cls, folder: Path, state: State, *, log_rows: int = LOGGED_ROWS) -> Directory:
        """A folder with a monitor that has no rows yet."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        except OSError as error:
            raise EngineError(
                f"cannot keep a monitor in {folder}: {error.strerror or error}", path=str(folder), reason=str(error)
            ) from error
        lock = _locked(folder)
        try:
            _refuse_others(folder)
            with _explained(folder):
                log = Log.create(folder / _log_name(0), 0, 0, state.version)
            found = cls(folder, lock, Shelf(folder), log, log_rows)
        except BaseException:
            lock.release()
            raise
        try:
            found._write(Moment.of(state), 0, 0)
        except BaseException:
            found.close()
            raise
        return found

    @classmethod
    def open(cls, folder: Path, *, verify: bool, log_rows: int = LOGGED_ROWS) -> tuple[Directory, State]:
        """The monitor of a folder, as of the last commit that was acknowledged."""
        read_manifest(folder)  # whether there is one at all, before a lock is made
        lock = _locked(folder)
        try:
            body = read_manifest(folder)
            shelf = Shelf(folder, body["next_file"])
            state = restored(folder, body, shelf, verify=verify)
            commits, newest, rows, size = body["commits"], body["log"], 0, 0
            for number, frames, end in _read_logs(folder, body):
                for frame in frames:
                    for change in frame.changes:
                        state.replay(change.gone, change.table)
                        rows += len(change.gone) + len(change.table)
                    commits = frame.number
                newest, size = number, size + end
            with _explained(folder):
                log = Log(folder / _log_name(newest), newest, Tail(end, commits, state.version))
            found = cls(folder, lock, shelf, log, log_rows)
        except BaseException:
            lock.release()
            raise
        found._rows, found._bytes = rows, size
        found._sweep(body)
        return found, state

    @property
    def commits(self) -> int:
        """How many commits there were."""
        return self._log.tail.commits

    def note(self, change: Change, version: int) -> None:
        """Takes a change in that has given a version of the state, to be written by the next commit."""
        self._pending.append((version, Logged(change.gone, change.table)))

    def commit(self, state: State) -> None:
        """Brings all changes since the last commit to the disk. Once this returns, they outlive the process."""
        self._let_writer_go()
        self._tell_failure()
        tail = self._log.tail
        changes = [change for version, change in self._pending if version > tail.version]
        if len(changes) != state.version - tail.version:  # rules have changed, or an interrupt kept one from us
            self._write_whole(state)
        elif changes:
            facts = {
                "n_rows": state.n_rows,
                "counts": {rule.name: str(one.count) for rule, one in zip(state.rules, state.stores, strict=True)},
            }
            self._bytes += self._log.append(state.version, facts, changes)
            self._rows += sum(len(change.gone) + len(change.table) for change in changes)
        self._pending = []
        if (self._rows > self._log_rows or self._bytes > LOGGED_BYTES) and self._writer is None:
            self._start(state)

    def close(self) -> None:
        """Waits for what is being written, and lets the folder go. What was not committed is gone."""
        self._wait()
        self._log.close()
        self._lock.release()

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

    def _write_whole(self, state: State) -> None:
        """Writes all there is, as a commit: what logs do not hold."""
        self._wait()
        commits = self.commits + 1
        with _explained(self.folder):
            self._begin_log()
            self._write(Moment.of(state), self._log.number, commits)
        self._log.tail = self._log.tail._replace(commits=commits, version=state.version)

    def _start(self, state: State) -> None:
        """Writes the state of this moment while work goes on. What fails is reported later: logs have all there is."""
        try:
            self._begin_log()
            moment, number, commits = Moment.of(state), self._log.number, self.commits
        except (OSError, OptionError, MemoryError) as error:
            self._failure, self._rows, self._bytes = error, 0, 0
            return

        def run() -> None:
            try:
                self._write(moment, number, commits)
            except BaseException as error:  # noqa: BLE001
                self._failure = error

        writer = threading.Thread(target=run, name="refute monitor", daemon=False)
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
                f"the logs of the monitor in {self.folder} could not be shortened: {failure}. Nothing is lost, "
                "but opening it takes longer; this is tried again as rows come",
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
                body |= {"log": log, "commits": commits}
                counted = zip(moment.rules, moment.stores, strict=True)
                body["counts"] = {rule.name: str(store[0]) for rule, store in counted}
                write_manifest(self.folder, body)
        except BaseException:
            with contextlib.suppress(DataError):  # there is none yet
                self._sweep(read_manifest(self.folder))
            raise
        self._shelf.keep()
        self._sweep(body)

    def _sweep(self, body: dict[str, Any]) -> None:
        """Removes files that neither the manifest names nor a log from its first on is, and drafts."""
        named = set(_names(body))
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                if path.name in named or not (_OWN.match(path.name) or _DRAFT.match(path.name)):
                    continue
                if path.name.startswith("log-") and _log_number(path) >= body["log"]:
                    continue
                path.unlink(missing_ok=True)


def described(folder: Path) -> dict[str, Any]:
    """What a folder holds, without opening it: rules, rows, violations, size; as of its last commit."""
    body = read_manifest(folder)
    try:
        frames = [frame for _, found, _ in _read_logs(folder, body) for frame in found]
    except DataError:
        if read_manifest(folder) == body:
            raise
        return described(folder)  # one who has it open has removed what the manifest was about
    commits, n_rows, counts, waiting = body["commits"], body["n_rows"], body["counts"], len(frames)
    for frame in frames[-1:]:
        commits, n_rows, counts = frame.number, frame.facts["n_rows"], frame.facts["counts"]
    size = 0
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size if path.is_file() else 0
    return {
        "key": body["key"],
        "method": body["method"],
        "rows": n_rows,
        "commits": commits,
        "in_log": waiting,
        "counts": {name: int(count) for name, count in counts.items()},
        "bytes": size,
        "rules": str(folder / body["rules"]["file"]),
    }


def _names(entry: Any) -> list[str]:
    """The names of all files in a manifest."""
    if isinstance(entry, dict):
        own = [entry["file"]] if isinstance(entry.get("file"), str) else []
        return own + [name for part in entry.values() for name in _names(part)]
    return [name for part in entry for name in _names(part)] if isinstance(entry, list) else []


def _log_name(number: int) -> str:
    return f"log-{number:06}.frames"


def _log_number(path: Path) -> int:
    return int(path.name.removeprefix("log-").removesuffix(".frames"))


def _read_logs(folder: Path, body: dict[str, Any]) -> Iterator[tuple[int, list[Commit], int]]:
    """The logs that come after the state of a manifest: number, frames, end; raises DataError where commits lack."""
    commits = body["commits"]
    last = max([body["log"], *(_log_number(path) for path in folder.glob("log-*.frames") if _OWN.match(path.name))])
    for number in range(body["log"], last + 1):
        path = folder / _log_name(number)
        frames, end = read_log(path, number, last=number == last)
        for frame in frames:
            commits += 1
            if frame.number != commits:
                raise DataError(f"{path} does not continue what was committed before", path=str(path))
        yield number, frames, end


def _refuse_others(folder: Path) -> None:
    """Raises DataError for a folder that holds more than a monitor that was never begun to the end."""
    for path in sorted(folder.iterdir()):
        if path.name == "lock" or _DRAFT.match(path.name) or _BEGUN.match(path.name):
            continue
        if path.name == _log_name(0) and path.stat().st_size <= START:
            continue
        if path.name == MANIFEST:
            raise EngineError(
                f"another process has just started a monitor in {folder}; open it again", path=str(folder)
            )
        if _OWN.match(path.name):
            raise DataError(f"{folder / MANIFEST} is missing, but {path.name} of a monitor is there", path=str(path))
        raise DataError(f"{folder} is not empty and does not hold a monitor: it contains {path.name!r}", path=str(path))


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Raises what the disk refuses as EngineError."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"cannot write to {folder}: {error.strerror or error}. What is on disk is unchanged",
            path=str(folder),
            reason=str(error.strerror or error),
        ) from error
    except OptionError as error:
        raise EngineError(f"{error}. What is on disk is unchanged", path=str(folder), reason=str(error)) from error


class _Lock:
    """What keeps others from writing to a folder, until it is released, or nobody has it, or the process ends."""

    def __init__(self, handle: int) -> None:
        self.release = weakref.finalize(self, os.close, handle)


def _locked(folder: Path) -> _Lock:
    """The lock of a folder; raises EngineError where another has it."""
    try:
        handle = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        raise EngineError(
            f"cannot keep a monitor in {folder}: {error.strerror or error}", path=str(folder), reason=str(error)
        ) from error
    try:
        _take(handle)
    except OSError as error:
        os.close(handle)
        raise EngineError(
            f"the monitor in {folder} is already open, here or in another process; only one can write to it",
            path=str(folder),
        ) from error
    return _Lock(handle)


def _take(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        locking: Callable[[int, int, int], None] = msvcrt.locking  # type: ignore[attr-defined]
        locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
