"""The options that every command takes, declared once."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Concatenate, ParamSpec

import click

from refute.cli.exits import Exit
from refute.cli.terminal import say

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """What every command takes: where Spark runs, how much to say, what a null means."""

    master: str | None
    remote: str | None
    quiet: bool
    verbose: bool
    nulls: str | None  # None: as the rules say
    conf: Mapping[str, str] = field(default_factory=dict)
    py_files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.master is not None and self.remote is not None:
            raise click.UsageError(
                "--master and --remote cannot be used together: one names a cluster, the other a Connect server."
            )
        if self.quiet and self.verbose:
            raise click.UsageError("--quiet and --verbose cannot be used together.")


def _settings(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Settings of Spark by name; raises BadParameter for what is not one."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name or len(name.split()) != 1:
            raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE, as in spark.executor.memory=4g.")
        if not name.startswith("spark."):
            raise click.BadParameter(f"{name!r} is not a Spark setting; their names begin with 'spark.'.")
        if name in _OWN_FLAGS:
            raise click.BadParameter(f"{name} has its own flag: {_OWN_FLAGS[name]}.")
        found[name] = value.strip()
    return found


def _files(context: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())


_OWN_FLAGS = {"spark.master": "--master", "spark.remote": "--remote", "spark.submit.pyFiles": "--py-files"}
_OPTIONS = (
    click.option("--master", metavar="URL", help="Spark master, e.g. spark://host:7077. Default: local[*], embedded."),
    click.option("--remote", metavar="URL", help="Spark Connect server, e.g. sc://host:15002."),
    click.option(
        "--conf",
        multiple=True,
        metavar="K=V",
        callback=_settings,
        help="A Spark setting, e.g. spark.executor.memory=4g. May be repeated.",
    ),
    click.option("--py-files", metavar="F,..", callback=_files, help="Python files or archives for Spark's executors."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    click.option("-v", "--verbose", is_flag=True, help="Show Spark's own messages, and tracebacks."),
    click.option(
        "--nulls",
        type=click.Choice(["sql", "equal"]),
        help="How nulls compare. sql: null never matches, equal: null = null.",
    ),
)


_NAMES = tuple(one.name for one in fields(SharedOptions))


def shared(command: Callable[Concatenate[SharedOptions, P], Exit]) -> Callable[P, Exit]:
    """The command with the shared options added; it gets them as its first argument."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> Exit:
        taken = {name: kwargs.pop(name) for name in _NAMES}
        try:
            return command(SharedOptions(**taken), *args, **kwargs)  # type: ignore[arg-type]
        except KeyboardInterrupt as error:  # click would add an empty line wherever its words go
            if sys.stderr.isatty():
                say("", err=True)  # after the ^C of the terminal
            raise click.ClickException("Interrupted.") from error

    decorated: Callable[P, Exit] = run
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def without(command: click.Command, *names: str) -> None:
    """Leave shared options that have no use for a command out of its help; it takes them all the same."""
    for option in command.params:
        if isinstance(option, click.Option) and option.name in names:
            option.hidden = True


OF_SPARK = ("master", "remote", "conf", "py_files")
