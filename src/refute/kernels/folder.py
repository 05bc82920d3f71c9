"""The folder of compiled kernels, and what becomes of those that nobody uses any more."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numba

from refute.runtime.cache import lasting_cache, own_folder

_DAY = 86_400.0
_SELDOM = 7 * _DAY  # how exactly it is known when a kernel was last used
_UNUSED = 90 * _DAY


def kernel_folder(source: Path) -> Path | None:
    """Where the kernels of a file are kept: Numba's own folder if the user set one, the user's cache, or beside the
    source; None where none of these can be written."""
    places = tuple(os.environ.get(name) for name in ("REFUTE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"))
    config: Any = numba.config
    return _folder(source.absolute().parent, config.CACHE_DIR, places)


@cache
def _folder(source: Path, chosen: str, places: tuple[str | None, ...]) -> Path | None:
    if chosen:
        return Path(chosen) / "refute" if os.path.isabs(chosen) and _is_writable(Path(chosen) / "refute") else None
    lasting = lasting_cache()
    own = None if lasting is None else own_folder(lasting, "kernels")
    if lasting is not None and own is not None and own.is_relative_to(lasting):
        return own
    beside = source / "__pycache__"
    return beside if _is_writable(beside) else None


def is_first_use() -> bool:
    """Whether no kernel is kept yet."""
    folder = kernel_folder(Path(__file__))
    return folder is None or next(folder.glob("*.nbc"), None) is None


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def names_kept(folder: Path) -> frozenset[str]:
    """The names of the functions of which some form is kept, when this process first asks."""
    return frozenset(file.name.rsplit(".", 2)[0] for file in folder.glob("*.nbc"))


def mark_as_used(file: Path) -> None:
    """Has the file count as used today, where it does not yet count as used this week."""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > _SELDOM:
            os.utime(file)


@cache
def remove_unused(folder: Path) -> None:
    """Removes kernels that were not used for some months, as those of an old version; once a process."""
    for file in folder.glob("*.nbc"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _UNUSED:
                file.unlink()
