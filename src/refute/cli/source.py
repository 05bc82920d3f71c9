"""Where a command's data comes from: small files are read in this process, the rest by Spark, unless one is named."""

from __future__ import annotations

import functools
import glob
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from refute.cli.options import SharedOptions
from refute.cli.output.progress import shows_progress
from refute.cli.terminal import say
from refute.errors import OptionError
from refute.faults import needing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from refute.relation import Relation

Command = TypeVar("Command", bound=Callable[..., object])

SMALL = 64 << 20  # bytes of input that keep Spark busy for seconds only


@dataclass(frozen=True, slots=True)
class Opened:
    """Data for the public functions: a table that is read already, or a path, with how Spark shall read it."""

    table: Relation | str
    reading: dict[str, Any] = field(default_factory=dict)
    session: SparkSession | None = None  # where Spark reads it

    @property
    def on_spark(self) -> bool:
        """Whether Spark reads it."""
        return isinstance(self.table, str)


def engine_option(command: Command) -> Command:
    """The command with the option that says where the data is read."""
    return click.option(
        "--engine",
        type=click.Choice(["auto", "spark", "local"]),
        default="auto",
        show_default=True,
        help="Where DATA is read: on Spark, or in this process. auto: small files in this process.",
    )(command)


def file_options(command: Command) -> Command:
    """The command with the options that say how files are read: columns, their types, and how CSV is written."""
    schema = click.option(
        "--schema", metavar="C T,..", help='Columns of CSV and JSON, and their types: "id bigint, name string".'
    )
    header = click.option(
        "--no-header",
        "header",
        flag_value=False,
        default=True,
        help="CSV without a header: --schema names its columns.",
    )
    gathering = _with_csv(command)
    for option in reversed(_CSV):
        gathering = option(gathering)
    return schema(header(gathering))


def reading_options(command: Command) -> Command:
    """The command with the options that say where the data is read, and how."""
    driver_bytes = click.option(
        "--driver-bytes",
        type=click.IntRange(min=0),
        metavar="N",
        help="Fetch at most N bytes of rows from Spark; 0: only answers.",
    )
    return engine_option(driver_bytes(file_options(command)))


_CSV = (
    click.option("--delimiter", metavar="C", help="What separates the cells of CSV, e.g. ';' or '\\t'."),
    click.option("--quote", metavar="C", help="The quote character of CSV; '' for none. Default: '\"'."),
    click.option("--encoding", metavar="NAME", help="How CSV is encoded, e.g. cp1252. Default: utf-8."),
    click.option("--null-values", metavar="V,..", help="Cells of CSV that are null, besides empty ones, e.g. NA,NULL."),
    click.option("--csv-as-given", "as_given", is_flag=True, help="Do not doubt the delimiter and encoding of CSV."),
)


def _with_csv(command: Command) -> Command:
    """The command that is given one mapping, `csv`, for the options that say how CSV is written."""

    @functools.wraps(command)
    def run(*args: Any, **given: Any) -> object:
        names = ("delimiter", "quote", "encoding", "null_values", "as_given")
        csv = {name: value for name in names if (value := given.pop(name)) not in (None, False)}
        if "null_values" in csv:
            csv["null_values"] = csv["null_values"].split(",")
        return command(*args, csv=csv or None, **given)

    return cast(Command, run)


def persist_option(command: Command) -> Command:
    """The command with the option to evaluate the data once."""
    return click.option(
        "--persist", is_flag=True, help="Evaluate DATA once and keep it until the command ends: for costly views."
    )(command)


def open_data(
    data: str,
    engine: str,
    options: SharedOptions,
    *,
    schema: str | None = None,
    header: bool = True,
    csv: Mapping[str, Any] | None = None,
    driver_bytes: int | None = None,
    wanted: bool = False,
) -> Opened:
    """The data of a command: a table that is read once, or a path for the Spark that runs from here on.

    `wanted` says that an option was given that means nothing without Spark.
    """
    from refute.relation.read.csv.options import CsvOptions
    from refute.relation.read.schema import Schema

    given = Schema.of(schema, header=header)  # so that a mistake is reported before Spark starts
    written = CsvOptions.of(csv)
    of_spark = bool(options.master or options.remote or options.conf or options.py_files)
    if engine == "local" and of_spark:
        raise OptionError(
            "--engine local reads DATA in this process, so --master, --remote, --conf and --py-files have no effect.",
            option="--engine",
            value="local",
        )
    from refute.api.tables import on_spark

    if not on_spark(data, engine, wanted=of_spark or wanted or driver_bytes is not None):
        from refute.relation import Relation, read_local

        return Opened(Relation.of(read_local(data, given, written)))
    needs = _flags_of_spark(options, driver_bytes)
    hint = f"leave {' and '.join(needs)} out" if needs else "add --engine local to read DATA in this process"
    hint = "leave out the options that need it" if wanted and not needs else hint
    running = start_spark(options, brief=size_of(data) <= SMALL, hint=f", or {hint}")
    reading = {"engine": "spark", "schema": given, "header": header, "csv": written, "driver_bytes": driver_bytes}
    return Opened(data, reading, running)


def _flags_of_spark(options: SharedOptions, driver_bytes: int | None) -> list[str]:
    """The options that were given and say how Spark runs."""
    given = {
        "--master": options.master,
        "--remote": options.remote,
        "--conf": options.conf,
        "--py-files": options.py_files,
        "--driver-bytes": driver_bytes is not None,
    }
    return [flag for flag, value in given.items() if value]


def start_spark(options: SharedOptions, *, brief: bool, hint: str = "") -> SparkSession:
    """The Spark that a command runs on; `brief` as for a session, `hint` says what to do without Spark."""
    running = begin_spark(options, brief=brief, hint=hint).result()
    if shows_progress(options.quiet) and options.remote is None:
        _hint_at_preparing()
    return running


def begin_spark(options: SharedOptions, *, brief: bool, hint: str = "") -> Future[SparkSession]:
    """The same while it still starts, in a thread of its own: Ctrl-C ends this process at once, and Java then ends by
    itself. Also, Spark then leaves the meaning of Ctrl-C alone."""
    with needing("Spark", "spark", hint):
        from refute.spark.session import session
        from refute.spark.session.warning import ignore_pandas_warning
    ignore_pandas_warning()
    started: Future[SparkSession] = Future()
    place, settings, files = (options.master, options.remote, options.verbose), options.conf, options.py_files

    def run() -> None:
        try:
            started.set_result(session(*place, brief=brief, settings=settings, py_files=files))
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            started.set_exception(error)

    Thread(target=run, name="refute-start", daemon=True).start()
    return started


def _hint_at_preparing() -> None:
    from refute.spark.session.archive import ClassArchive
    from refute.spark.session.java import find_java

    if not ClassArchive.of(find_java()).exists:
        say("refute: Run `refute prepare` once, and Spark starts in about half the time.", err=True)


def size_of(data: str) -> int:
    """The bytes that a path, folder or glob names on this machine; of anything else nothing is known, and it is 0."""
    paths = [Path(match) for match in (glob.glob(data) if glob.has_magic(data) else [data])]
    files = (file for path in paths for file in (path.rglob("*") if path.is_dir() else [path]))
    return sum(file.stat().st_size for file in files if file.is_file())
