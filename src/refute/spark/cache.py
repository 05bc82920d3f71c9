"""Where Refute keeps what it makes once per machine: the Java launcher and the class archives."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """The folder for files that can be made again at any time: `REFUTE_CACHE_DIR`, or the user's cache."""
    given = os.environ.get("REFUTE_CACHE_DIR")
    if given:
        return Path(given).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "refute"


def fingerprint(*facts: object) -> str:
    """A short name for a set of facts, the same in every run."""
    return hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()[:16]


def write_atomically(path: Path, text: str, mode: int) -> None:
    """Put a whole file in place: other processes see none of it, or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
