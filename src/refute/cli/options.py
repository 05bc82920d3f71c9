"""The options that every command takes, declared once."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

import click

from refute.cli.exits import Exit

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Shared:
    """What every command is told: where Spark runs, how much to say, what a null means."""

    master: str | None
    remote: str | None
    quiet: bool
    verbose: bool
    nulls: str | None  # None: as the rules say

    def __post_init__(self) -> None:
        if self.master is not None and self.remote is not None:
            raise click.UsageError(
                "--master and --remote exclude each other: one names a cluster, one a Connect server."
            )
        if self.quiet and self.verbose:
            raise click.UsageError("--quiet and --verbose exclude each other.")


_OPTIONS = (
    click.option("--master", metavar="URL", help="Spark master, e.g. spark://host:7077. Default: local[*], embedded."),
    click.option("--remote", metavar="URL", help="Spark Connect server, e.g. sc://host:15002."),
    click.option("-q", "--quiet", is_flag=True, help="Only errors and the exit code."),
    click.option("-v", "--verbose", is_flag=True, help="Show what Spark says, and tracebacks."),
    click.option("--nulls", type=click.Choice(["sql", "equal"]), help="A null equals nothing (sql), or null (equal)."),
)


def shared(command: Callable[Concatenate[Shared, P], Exit]) -> Callable[P, Exit]:
    """The command with the shared options added; it gets them as its first argument."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> Exit:
        taken = {name: kwargs.pop(name) for name in ("master", "remote", "quiet", "verbose", "nulls")}
        try:
            return command(Shared(**taken), *args, **kwargs)  # type: ignore[arg-type]
        except KeyboardInterrupt as error:  # click would add an empty line wherever its words go
            if sys.stderr.isatty():
                click.echo(err=True)  # after the ^C of the terminal
            raise click.ClickException("interrupted") from error

    decorated: Callable[P, Exit] = run
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
