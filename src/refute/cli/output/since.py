"""What a check is held against: violations that are known, and results of earlier runs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

import refute
from refute.cli.output.places import Place, as_archive, as_file
from refute.errors import OptionError

if TYPE_CHECKING:
    from refute.report.baseline import Baseline
    from refute.report.history import History

Command = TypeVar("Command", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Since:
    """A baseline to hold a report against, one to write, and a history to add to; None where nobody asks for it."""

    baseline: str | None
    written: Place | None
    folder: Place | None

    @property
    def places(self) -> tuple[Place | None, ...]:
        """What is written."""
        return self.written, self.folder

    @property
    def inputs(self) -> tuple[tuple[str, str | None], ...]:
        """What is read and stays: the baseline, unless the new one takes its place."""
        new = None if self.written is None or self.written.address is not None else self.written.path
        if self.baseline is not None and new is not None and os.path.realpath(new) == os.path.realpath(self.baseline):
            return ()
        return (("--baseline", self.baseline),)

    @property
    def history(self) -> History | None:
        """The history with the runs so far."""
        if self.folder is None:
            return None
        from refute.report.history import History

        return History.of(self.folder.path)

    @property
    def known(self) -> Baseline | None:
        """The baseline in its file."""
        if self.baseline is None:
            return None
        from refute.report.baseline import Baseline

        return Baseline.read(self.baseline)

    def require(self, *, counted: bool) -> None:
        """Raise an error for what cannot be done, before anything costly is."""
        for place in self.places:
            if place is not None and (place.address is not None or place.is_stdout):
                raise OptionError(
                    f"{place.flag} {place.text}: It is kept on this machine only. Name a path.", option=place.flag
                )
        if not counted and (self.baseline is not None or self.written is not None):
            raise OptionError("A baseline needs all violations. Leave --verify out.", option="--verify")
        _ = self.known  # a mistake in what is read is reported now, and not after the check and half of its output
        if self.history is not None:
            self.history.runs("", ())

    def applied(self, report: refute.Report) -> refute.Report:
        """The report against the baseline; a new one is written, and the history knows of it."""
        compared = report if (known := self.known) is None else report.against(known)
        if self.written is not None:
            from refute.report.baseline import Baseline

            Baseline.of(report).write(self.written.path)
        if self.history is not None:
            self.history.add(compared)
        return compared


def _not_blank(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """The path of a file to read; raises BadParameter where there is none."""
    if given is not None and not given.strip():
        raise click.BadParameter(f"{given!r} is not a file.")
    return given


def since_options(command: Command) -> Command:
    """The command with these options, which it is given as one."""

    @functools.wraps(command)
    def run(*args: Any, baseline: str | None, write_baseline: Place | None, history: Place | None, **more: Any) -> Any:
        return command(*args, since=Since(baseline, write_baseline, history), **more)

    options = (
        click.option(
            "--baseline",
            callback=_not_blank,
            metavar="F",
            help="Fail only for violations that this file, written earlier, does not have.",
        ),
        click.option(
            "--write-baseline",
            callback=as_file,
            metavar="F",
            help="Write the violations found now, for later runs with --baseline to accept.",
        ),
        click.option(
            "--history",
            callback=as_archive,
            metavar="DIR",
            help="Add the results to a folder; --html then shows the trend.",
        ),
    )
    decorated: Any = run
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
