"""What keeps a second writer from a folder."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from refute.errors import EngineError, ended

NAME = "lock"


class Lock:
    """What keeps others from writing to a folder, until it is released, or nobody has it, or the process ends."""

    def __init__(self, handle: int) -> None:
        self.release = weakref.finalize(self, os.close, handle)


def locked(folder: Path, noun: str) -> Lock:
    """The lock of a folder that holds a `noun`; raises EngineError where another has it."""
    try:
        handle = os.open(folder / NAME, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        raise cannot_keep(folder, noun, error) from error
    try:
        _take(handle)
    except OSError as error:
        os.close(handle)
        raise EngineError(
            f"The {noun} in {folder} is already open, here or in another process; only one can write to it.",
            path=str(folder),
        ) from error
    return Lock(handle)


def cannot_keep(folder: Path, noun: str, error: OSError) -> EngineError:
    """The error for a folder in which nothing can be written."""
    is_file = isinstance(error, FileExistsError)
    reason = "It is a file, not a folder." if is_file else ended(error.strerror or str(error))
    return EngineError(f"Cannot keep a {noun} in {folder}: {reason}", path=str(folder), reason=str(error))


@contextmanager
def keeping(folder: Path, noun: str) -> Iterator[None]:
    """Has what the machine says of a folder in which nothing can be written said as an error that names it."""
    try:
        yield
    except OSError as error:
        raise cannot_keep(folder, noun, error) from error


def _take(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        locking: Callable[[int, int, int], None] = msvcrt.locking  # type: ignore[attr-defined]
        locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
