"""A folder that holds a monitor: opened by one writer at a time, committed to, and tidied while work goes on."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refute.errors import DataError, EngineError
from refute.live.durable.log import Log, Logged, read_log
from refute.live.durable.manifest import read_manifest, write_manifest
from refute.live.durable.saved import Moment, Shelf, restored
from refute.live.state import Change, State

LOGGED_ROWS = 1 << 16  # rows in logs from which a state is written, so opening has no more to carry out again
LOGGED_BYTES = 1 << 26
_OWN = re.compile(r"(rules|rows|alive|pairs|run|values|log)-\d+\.(arrow|yaml|frames)$")


class Directory:
    """The files of one monitor. All methods but `close` are called by one thread at a time."""

    def __init__(self, folder: Path, lock: int, shelf: Shelf, log: Log, commits: int, first_log: int) -> None:
        self.folder = folder
        self.commits = commits
        self._lock = lock
        self._shelf = shelf
        self._log = log
        self._first_log = first_log
        self._pending: list[Logged] = []
        self._rows = self._bytes = 0
        self._writer: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._renew = False

    @classmethod
    def create(cls, folder: Path, state: State) -> Directory:
        """A folder with a monitor that has no rows yet, or those that it has."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _locked(folder)
        except OSError as error:
            raise EngineError(f"cannot keep a monitor in {folder}: {error.strerror or error}") from error
        try:
            others = [path.name for path in folder.iterdir() if path.name != "lock" and not _OWN.match(path.name)]
            if others:
                raise DataError(f"{folder} is not empty and holds no monitor: it has {sorted(others)[0]!r}")
            shelf = Shelf(folder)
            log = Log.create(folder / _log_name(0), 0)
            found = cls(folder, lock, shelf, log, 0, 0)
            found._write(Moment.of(state), 0, 0)
        except BaseException:
            os.close(lock)
            raise
        return found

    @classmethod
    def open(cls, folder: Path, *, verify: bool) -> tuple[Directory, State]:
        """The monitor of a folder, as of the last commit that was acknowledged."""
        read_manifest(folder)  # whether there is one at all, before a lock is made
        lock = _locked(folder)
        try:
            body = read_manifest(folder)
            shelf = Shelf(folder, body["next_file"])
            state = restored(folder, body, shelf, verify=verify)
            commits, number, end, rows = body["commits"], body["log"], 0, 0
            while True:
                frames, end = read_log(folder / _log_name(number), number)
                for frame in frames:
                    if frame.number != commits + 1:
                        raise DataError(f"{folder / _log_name(number)} does not follow what was committed before")
                    for change in frame.changes:
                        state.replay(change.gone, change.table)
                        rows += len(change.gone) + len(change.table)
                    commits = frame.number
                if not (folder / _log_name(number + 1)).exists():
                    break
                number += 1
            log = Log(folder / _log_name(number), number, end)
            found = cls(folder, lock, shelf, log, commits, body["log"])
            found._rows = rows
            found._sweep(body)
        except BaseException:
            os.close(lock)
            raise
        return found, state

    def note(self, change: Change) -> None:
        """Takes a change in, to be written by the next commit."""
        self._pending.append(Logged(change.gone, change.table))

    def renew(self) -> None:
        """The next commit writes the whole state: rules have changed, which logs do not tell."""
        self._renew = True

    def commit(self, state: State) -> None:
        """Brings all changes since the last commit to the disk. Once this returns, they outlive the process."""
        self._check_writer()
        if self._renew:
            self._wait()
            self._begin_log()
            self._write(Moment.of(state), self._log.number, self.commits)
            self._pending, self._renew = [], False
            return
        if self._pending:
            facts = {
                "n_rows": state.n_rows,
                "counts": {rule.name: str(one.count) for rule, one in zip(state.rules, state.stores, strict=True)},
            }
            self._bytes += self._log.append(self.commits + 1, facts, self._pending)
            self.commits += 1
            self._rows += sum(len(change.gone) + len(change.table) for change in self._pending)
            self._pending = []
        if (self._rows > LOGGED_ROWS or self._bytes > LOGGED_BYTES) and self._writer is None:
            self._begin_log()
            self._start(Moment.of(state))

    def close(self) -> None:
        """Waits for what is being written, and lets the folder go. What was not committed is gone."""
        self._wait()
        self._log.close()
        os.close(self._lock)

    def _begin_log(self) -> None:
        number = self._log.number + 1
        new = Log.create(self.folder / _log_name(number), number)
        self._log.close()
        self._log, self._rows, self._bytes = new, 0, 0

    def _start(self, moment: Moment) -> None:
        """Writes a state while work goes on."""
        number, commits = self._log.number, self.commits

        def run() -> None:
            try:
                self._write(moment, number, commits)
            except BaseException as error:  # noqa: BLE001  told by the next commit; logs have all there is
                self._failure = error

        self._writer = threading.Thread(target=run, name="refute monitor", daemon=False)
        self._writer.start()

    def _check_writer(self) -> None:
        """Lets a thread go that is done; where it failed, all is still in the logs, and it is tried again later."""
        if self._writer is not None and not self._writer.is_alive():
            self._writer.join()
            self._writer = None
            if self._failure is not None:
                self._failure, self._rows = None, LOGGED_ROWS + 1

    def _wait(self) -> None:
        if self._writer is not None:
            self._writer.join()
        self._check_writer()

    def _write(self, moment: Moment, log: int, commits: int) -> None:
        body = self._shelf.write(moment)
        body |= {"log": log, "commits": commits}
        body["counts"] = {rule.name: str(store[0]) for rule, store in zip(moment.rules, moment.stores, strict=True)}
        write_manifest(self.folder, body)
        self._first_log = log
        self._sweep(body)

    def _sweep(self, body: dict[str, Any]) -> None:
        """Removes files that neither the manifest names nor a log from its first on is."""
        named = set(_names(body))
        for path in self.folder.iterdir():
            if not _OWN.match(path.name) or path.name in named:
                continue
            number = int(re.findall(r"\d+", path.name)[0])
            if path.name.startswith("log-") and number >= body["log"]:
                continue
            with contextlib.suppress(OSError):
                path.unlink()


def described(folder: Path) -> dict[str, Any]:
    """What a folder holds, without opening it: rules, rows, violations, size; as of its last commit."""
    body = read_manifest(folder)
    number, commits, n_rows, counts, waiting = body["log"], body["commits"], body["n_rows"], body["counts"], 0
    while (folder / _log_name(number)).exists():
        frames, _ = read_log(folder / _log_name(number), number)
        for frame in frames:
            commits, n_rows, counts = frame.number, frame.facts["n_rows"], frame.facts["counts"]
            waiting += 1
        number += 1
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
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


def _locked(folder: Path) -> int:
    """A handle that keeps others from writing to a folder, until it is closed or the process ends."""
    handle = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o666)
    try:
        _take(handle)
    except OSError as error:
        os.close(handle)
        raise EngineError(f"another process has the monitor in {folder} open; only one can write to it") from error
    return handle


def _take(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        locking: Callable[[int, int, int], None] = msvcrt.locking  # type: ignore[attr-defined]
        locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
