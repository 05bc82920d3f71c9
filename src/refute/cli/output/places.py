"""Where a command writes: a file on this machine, an address that Spark knows, a table of its catalog, stdout."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.terminal import hand_over
from refute.errors import OptionError
from refute.faults import already_there, unwritable
from refute.language.addresses import is_address, is_local_address, local_path
from refute.writing import write_text as write_whole

if TYPE_CHECKING:
    from refute.cli.source import Opened

_TABLE = "table:"


@dataclass(frozen=True, slots=True)
class Place:
    """A place as the user wrote it."""

    text: str
    flag: str  # the option that names it
    is_folder: bool = False
    keeps: bool = False  # a folder that only ever gets files of new names

    @property
    def is_stdout(self) -> bool:
        """Whether it is written as a dash."""
        return self.text == "-"

    @property
    def table(self) -> str | None:
        """The name of the table that it is; None for places of files."""
        return self.text.removeprefix(_TABLE).strip() if self.text.startswith(_TABLE) else None

    @property
    def address(self) -> str | None:
        """The address on a file system that only Spark may know; None for places on this machine."""
        return self.text if is_address(self.text) and not is_local_address(self.text) else None

    @property
    def path(self) -> Path:
        """The path on this machine."""
        return local_path(self.text)

    def is_below(self, folder: Place) -> bool:
        """Whether it is in a folder, however the paths are spelled."""
        if self.is_stdout or self.table is not None:
            return False
        if self.address is None and folder.address is None:
            return Path(os.path.realpath(self.path)).is_relative_to(os.path.realpath(folder.path))
        return self.text.startswith(f"{folder.text.rstrip('/')}/")

    def require(self, data: Opened) -> None:
        """Raises an error where nothing could be written, before anything costly is done."""
        if self.table is None and self.address is None:
            self._require_here()
            return
        if data.session is None:
            raise OptionError(
                f"{self.flag} {self.text}: Only Spark can write there, not --engine local. Name a path on this "
                "machine, or leave out --engine local.",
                option=self.flag,
                value=self.text,
            )
        from refute.spark.source.places import require_file_system, require_table

        if self.table is not None:
            require_table(data.session, self.table)
        elif self.address is not None:
            require_file_system(data.session, self.address)

    def _require_here(self) -> None:
        path = self.path
        if self.is_folder and path.exists() and not path.is_dir():
            raise unwritable(self.text, f"It is a file, and {self.flag} takes a folder.")
        if not self.is_folder and not self.is_stdout and path.is_dir():
            raise unwritable(self.text, f"It is a folder, and {self.flag} takes a file.")
        if not self.is_folder and not path.parent.is_dir():
            raise unwritable(self.text, f"There is no folder {path.parent}.")

    def write(self, text: str, data: Opened) -> None:
        """Write a text: on this machine as a file or to stdout, elsewhere as the only file of a folder."""
        if self.is_stdout:
            hand_over(text.rstrip("\n") + "\n")
            return
        if self.address is not None:
            from refute.spark.source.places import write_text

            assert data.session is not None
            write_text(data.session, self.address, text)
            return
        write_whole(self.path, text)


def as_file(context: click.Context, option: click.Parameter, given: str | None) -> Place | None:
    """The place of a file that the value of an option names; None where the option is not given."""
    if given is None:
        return None
    place = Place(given, option.opts[0])
    if not given.strip() or place.table is not None:
        raise click.BadParameter(f"{given!r} is not a file or an address.")
    return place


def as_folder(context: click.Context, option: click.Parameter, given: str | None) -> Place | None:
    """The same for a folder of files."""
    if given is None:
        return None
    place = Place(given, option.opts[0], is_folder=True)
    if not given.strip() or place.is_stdout or place.table is not None:
        raise click.BadParameter(f"{given!r} is not a folder or an address.")
    return place


def as_archive(context: click.Context, option: click.Parameter, given: str | None) -> Place | None:
    """The same for a folder to which files are added."""
    place = as_folder(context, option, given)
    return None if place is None else replace(place, keeps=True)


def as_folder_or_table(context: click.Context, option: click.Parameter, given: str | None) -> Place | None:
    """The same for a folder of files, or a table of the catalog."""
    if given is None:
        return None
    place = Place(given, option.opts[0], is_folder=True)
    if not given.strip() or place.is_stdout or place.table == "":
        raise click.BadParameter(f"{given!r} is not a folder, an address or table:schema.name.")
    return place


def on_spark_alone(places: Iterable[Place | None]) -> bool:
    """Whether one of the places that are named is one that only Spark can write to."""
    return any(place is not None and (place.table or place.address) is not None for place in places)


def require_new(place: Place | None, *, force: bool) -> None:
    """Raises an error where a file on this machine is there already, unless it may be replaced."""
    if place is None or place.address is not None or place.is_stdout or force:
        return
    if place.path.exists():
        raise already_there(place.text, place.flag)


def require_all(places: Iterable[Place | None], data: Opened) -> None:
    """Raises an error where one of the places that are named cannot be written to."""
    for place in places:
        if place is not None:
            place.require(data)
