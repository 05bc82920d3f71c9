"""Outputs that stay apart from what a command reads, and from each other."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from refute.cli.output.places import Place
from refute.errors import RefuteError
from refute.faults import among_input, over_input, same_output
from refute.language.addresses import is_address, is_local_address, local_path

_ROWS = (".csv", ".parquet")  # what is written into folders


def require_apart(
    places: Iterable[Place | None], inputs: Iterable[tuple[str, str | None]], *, own: Path | None = None
) -> None:
    """Raises an error where an output would replace an input or another output, however their paths are spelled.

    Inputs are texts as the user wrote them, each with a word for it: paths, globs, addresses, names of tables; whatever
    names no file is left alone. `own` is a folder that the command keeps to itself.
    """
    named = [place for place in places if place is not None]
    if not named:
        return
    for number, place in enumerate(named):
        for other in named[:number]:
            if _is_same(place, other):
                raise same_output(place.text, (other.flag, place.flag))
        if own is not None and _is_here(place) and _real(place).is_relative_to(os.path.realpath(own)):
            raise over_input(place.text, place.flag, f"files of {str(own)!r}")
    for word, text in inputs:
        if text is None:
            continue
        here = None if is_address(text) and not is_local_address(text) else str(local_path(text))
        files = [] if here is None else list(_files(here))
        for place in named:
            if _is_elsewhere(place, text) or any(_replaces(place, file) for file in files):
                raise over_input(place.text, place.flag, word)
            if here is not None and _joins(place, here):
                raise among_input(place.text, place.flag, word)


def _files(text: str) -> Iterator[Path]:
    """The files that an input names on this machine; none where it is something else."""
    from refute.relation.read.files import local_files  # which loads Arrow

    with contextlib.suppress(RefuteError):  # whoever reads it says what is wrong with it
        yield from local_files(text)


def _is_here(place: Place) -> bool:
    return place.table is None and place.address is None and not place.is_stdout


def _real(place: Place) -> Path:
    return Path(os.path.realpath(place.path))


def _is_same(place: Place, other: Place) -> bool:
    if not (_is_here(place) and _is_here(other)):
        return place.text.rstrip("/") == other.text.rstrip("/")
    if place.path.exists() and other.path.exists():
        return _is_file_or_folder(place.path) and place.path.samefile(other.path)
    return _real(place) == _real(other)


def _is_file_or_folder(path: Path) -> bool:
    """Whether what is written there stays there, unlike on a device."""
    return path.is_file() or path.is_dir()


def _replaces(place: Place, file: Path) -> bool:
    """Whether a file is the place itself, or one of those that a folder of rows is made of."""
    if not _is_here(place) or not place.path.exists():
        return False
    if place.is_folder:
        if place.keeps or not place.path.is_dir():
            return False
        return file.suffix.lower() in _ROWS and Path(os.path.realpath(file)).is_relative_to(_real(place))
    return file.is_file() and place.path.samefile(file)


def _is_elsewhere(place: Place, text: str) -> bool:
    """Whether an input that only Spark knows is the place, or in it."""
    if place.table is not None:
        return place.table.casefold() == text.strip().casefold()
    return place.address is not None and f"{text.rstrip('/')}/".startswith(f"{place.address.rstrip('/')}/")


def _joins(place: Place, text: str) -> bool:
    """Whether what is written there would be one of the files that a folder or glob names from then on."""
    if not _is_here(place):
        return False
    real = _real(place)
    files = [real / f"rows{suffix}" for suffix in _ROWS] if place.is_folder else [real]
    if Path(text).is_dir():
        return any(_is_row_file(file, Path(os.path.realpath(text))) for file in files)
    if not glob.has_magic(text) or Path(text).exists():
        return False
    fixed, pattern = _parted(text)
    for file in files:
        for named in (file, *file.parents):
            if named.is_relative_to(fixed) and _matches(named.relative_to(fixed).parts, pattern):
                return named == file or _is_row_file(file, named)
    return False


def _is_row_file(file: Path, folder: Path) -> bool:
    """Whether a file is one that is read with its folder."""
    from refute.relation.read.formats import format_of  # which loads Arrow

    if not file.is_relative_to(folder) or format_of(file.name) is None:
        return False
    return not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)


def _parted(text: str) -> tuple[Path, tuple[str, ...]]:
    """The folder that a glob begins with, and the patterns below it."""
    parts = Path(text).parts
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return Path(os.path.realpath(os.path.join(*parts[:fixed]) if fixed else ".")), parts[fixed:]


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the names of folders and a file match a glob, as the module `glob` reads it."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return _matches(names, pattern[1:]) or (bool(names) and _matches(names[1:], pattern))
    return bool(names) and fnmatch.fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])
