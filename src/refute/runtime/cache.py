"""Where Refute keeps what it makes once per machine: compiled kernels, the Java launcher and the class archives.

All of them are run, so nobody else may be able to write them: the folder is ours alone, or it is not used.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path


class UntrustedCacheWarning(UserWarning):
    """A cache that others can write, and that is passed over for that."""


def cache_directory() -> Path:
    """The folder for files that can be made again at any time: the lasting one, or one for this process alone."""
    return lasting_cache() or temporary_cache()


def lasting_cache() -> Path | None:
    """`REFUTE_CACHE_DIR`, or the user's cache; None where we cannot write there, or others can."""
    try:
        folder = _wanted()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            return None
    except (OSError, RuntimeError):  # the latter where this user has no home
        return None
    if is_ours(folder.resolve()) and not any(map(_anybody_can_rename_in, folder.resolve().parents)):
        return folder
    warnings.warn(
        f"The cache {folder} is not used: it belongs to another user, or others can write to it. Make it your own "
        "folder with mode 0700, or set REFUTE_CACHE_DIR to one.",
        UntrustedCacheWarning,
        stacklevel=2,
    )
    return None


def own_folder(root: Path, *names: str) -> Path:
    """The folder below the cache, made where it is missing; where others can write into it, a temporary one."""
    folder = root
    try:
        for name in names:
            folder = folder / name
            folder.mkdir(mode=0o700, exist_ok=True)
            if not is_ours(folder):
                raise PermissionError(f"{folder} is not ours alone")
    except OSError:
        if root == temporary_cache():
            raise
        return own_folder(temporary_cache(), *names)
    return folder


def temporary_cache() -> Path:
    """A folder that lives as long as this process; a forked one has its own."""
    return _temporary(os.getpid())


def is_ours(path: Path) -> bool:
    """Whether a file or folder is there, belongs to this user, and can be written by nobody else."""
    try:
        found = path.lstat()
    except OSError:
        return False
    mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return mine and not stat.S_ISLNK(found.st_mode) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def fingerprint(*facts: object) -> str:
    """A short name for a set of facts, the same in every run."""
    return hashlib.sha256("\0".join(map(str, facts)).encode(errors="surrogateescape")).hexdigest()[:16]


def _wanted() -> Path:
    given = os.environ.get("REFUTE_CACHE_DIR")
    if given:
        return Path(given).absolute()
    user = os.environ.get("XDG_CACHE_HOME", "")
    # The standard of these variables: one that is not an absolute path is as if it were not set.
    return (Path(user) if os.path.isabs(user) else Path.home() / ".cache").absolute() / "refute"


def _anybody_can_rename_in(folder: Path) -> bool:
    """Whether anybody could put a folder of theirs in the place of one in it."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


@cache
def _temporary(process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="refute-"))

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
