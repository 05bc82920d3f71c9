"""The entry point: one group of commands, and one place where errors become messages and exit codes."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import click

import refute
from refute.cli.exits import Exit
from refute.cli.terminal import say
from refute.display import in_one_line
from refute.errors import RefuteError, SchemaError, did_you_mean, ended, shortened
from refute.runtime.compiling import COMPILING

COMMANDS = (
    "check",
    "init",
    "discover",
    "explain",
    "convert",
    "lint",
    "schema",
    "monitor",
    "track",
    "watch",
    "demo",
    "prepare",
)
_HOMES = {name: f"files.{name}" for name in ("convert", "init", "lint", "schema")}  # that have a folder
_SIGNS = (signal.SIGINT, signal.SIGTERM)
_NOT_A_NUMBER = re.compile(r"is not a valid (integer|float)(?: range)?")
_BY_FUNCTION = {  # what does from the shell what a function of this name does
    "propose": "discover DATA",
    "verify": "check DATA RULES --verify",
    "count": "check DATA RULES --count",
    "violations": "check DATA RULES --violations DIR",
    "suspects": "check DATA RULES --suspects FILE",
}


class Commands(click.Group):
    """A group that imports `refute.cli.<name>` when its command runs, and takes its `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        home = _HOMES.get(cmd_name, cmd_name)
        command: click.Command = importlib.import_module(f"refute.cli.{home}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # of which click would make an empty line wherever its words go
            if sys.stderr.isatty():
                say("", err=True)  # after the ^C of the terminal
            raise click.ClickException("Interrupted.") from error
        except EOFError as error:  # which click would take for an interruption
            raise RuntimeError(ended(f"A file ended too early: {error}".removesuffix(": "))) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS) or f" The commands are {', '.join(COMMANDS)}."
            if args[0] in _BY_FUNCTION:
                hint = f" Try `refute {_BY_FUNCTION[args[0]]}`."
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(refute.__version__, prog_name="refute", message="%(prog)s %(version)s")
def app() -> None:
    """Finds the pairs of rows that refute your data's rules, and the rules your data obeys.

    Exit codes: 0 all rules hold, 1 a rule of severity error failed, 2 only warn rules failed, 3 could not run,
    4 finished only in part.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code of one run; every error has become one message on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(), _unlogged({"-v", "--verbose"} & set(given)):
        if {"-q", "--quiet"} & set(given):
            warnings.simplefilter("ignore")
        else:
            warnings.showwarning = _remarks(in_full=bool({"-v", "--verbose"} & set(given)))
        is_quiet = bool({"-q", "--quiet"} & set(given))
        with _logs(shown=bool({"-v", "--verbose"} & set(given))), COMPILING.heard_by(partial(_say_compiling, is_quiet)):
            return _answered(given)


def _say_compiling(is_quiet: bool) -> None:
    """Say why nothing happens for some seconds: on a terminal always, elsewhere where nothing was ever compiled."""
    if is_quiet:
        return
    from refute.kernels.folder import is_first_use

    if sys.stderr.isatty() or is_first_use():
        say("refute: Compiling kernels for this machine, once.", err=True)


@contextlib.contextmanager
def _unlogged(verbose: object) -> Iterator[None]:
    """What libraries log, such as a call to Java that Ctrl-C has ended, is said by our own message, or not at all."""
    before = logging.root.manager.disable
    logging.disable(before if verbose else logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _answered(given: list[str]) -> int:
    try:
        code = app.main(args=given, prog_name="refute", standalone_mode=False, obj=tuple(given))
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message(), err=True)
        return Exit.FAILED
    except click.UsageError as error:
        own = f"refute {given[0]}" if given and given[0] in COMMANDS else "refute"
        where = error.ctx.command_path if error.ctx else own
        said = error.format_message()
        if said.startswith("Got unexpected extra argument") and _has_files(said):
            said += ". Quote the glob, so the shell does not expand it."
        elif said.startswith("Got unexpected extra argument"):
            said += "."
        said = _NOT_A_NUMBER.sub(_in_words, said)
        if said == "Missing argument 'RULES'.":
            said += " These are a rule file, or a rule such as 'zip -> city'; `refute init DATA` writes a first file."
        return _failed(f"{shortened(said)} See `{where} --help`.")
    except click.ClickException as error:
        return _failed(shortened(error.format_message()))
    except SchemaError as error:  # one line for each rule that does not fit
        return _failed(str(error).replace("\n", "\nrefute: ") if "problems" in error.facts else str(error))
    except RefuteError as error:
        return _failed(str(error))
    except (click.Abort, KeyboardInterrupt):
        return _failed("Interrupted.")
    except (BrokenPipeError, SystemExit):  # the reader of our output has left, as in `refute check ... | head`,
        return Exit.FAILED  # for which click would leave with 1, as if a rule had failed
    except OSError as error:
        return _failed(ended(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)))
    except Exception as error:  # noqa: BLE001  a defect of ours must not look like a failed rule (exit code 1)
        if {"-v", "--verbose"} & set(given):
            say(traceback.format_exc(), err=True)
        return _failed(f"Internal error: {type(error).__name__}: {ended(shortened(str(error)))} --verbose shows where.")
    return int(code or 0)


def _has_files(said: str) -> bool:
    """Whether arguments that nobody expected look like files, as where the shell has put them in place of a glob."""
    words = said.partition("(")[2].rstrip(").").split()
    return any(os.path.splitext(word)[1] or os.path.exists(word) for word in words)


def _in_words(found: re.Match[str]) -> str:
    return f"is not a {'whole ' if found[1] == 'integer' else ''}number"


def main() -> NoReturn:
    """Run the command line and leave the process with its exit code."""
    atexit.register(_deafen)  # first, and so called last, after all that may take its time
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us: nobody is to read it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  for as long as we run
    code = run()
    try:
        sys.stdout.flush()
    except OSError as error:  # and Python would write the rest once more on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            code = _failed(f"The output cannot be written: {error.strerror}.")
    _settle(code)
    if code == Exit.FAILED:
        from refute.runtime.threads import is_left_at_work

        if is_left_at_work():
            os._exit(code)  # with nothing left to close that the next run would miss
    sys.exit(code)


def _settle(code: int) -> None:
    """From here on a signal ends the process at once, and changes nothing of its answer."""
    for sign in _SIGNS:
        signal.signal(sign, lambda *_: os._exit(code))


def _deafen() -> None:
    """The same for the last moments of the process, in which Python hears no signal, and would die of it."""
    for sign in _SIGNS:
        signal.signal(sign, signal.SIG_IGN)


@contextlib.contextmanager
def _logs(*, shown: bool) -> Iterator[None]:
    """Keep what libraries log from stderr: py4j logs every call that Ctrl-C cuts short, and errors come anyway."""
    silence = logging.NullHandler()
    if not shown:
        logging.getLogger().addHandler(silence)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(silence)


def _remarks(*, in_full: bool) -> Callable[..., None]:
    """What shows a warning once a run: in full, or as one line without the place in our code."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], name: str, line: int, *_: Any, **__: Any) -> None:
        if str(message) in shown:
            return
        shown.add(str(message))
        place = warnings.formatwarning(message, category, name, line) if in_full else ""
        say(place.rstrip() or f"refute: {in_one_line(str(message))}", err=True)

    return show


def _failed(message: str) -> Exit:
    say(f"refute: {message}", err=True)
    return Exit.FAILED
