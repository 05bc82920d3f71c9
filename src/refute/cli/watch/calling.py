"""The command: its options, and what a call does."""

from __future__ import annotations

import glob
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import refute
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.flags import speaking_of_options
from refute.cli.output.hiding import hiding_options
from refute.cli.output.progress import waiting
from refute.cli.source import SMALL, file_options, size_of, start_spark
from refute.cli.terminal import hand_over, say
from refute.cli.watch.interruption import Interruption, interruption
from refute.cli.watch.serving import PageServer, address_of
from refute.errors import EngineError, OptionError, RefuteError
from refute.faults import missing_file
from refute.language.addresses import local_path
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, Severity

if TYPE_CHECKING:
    from refute.watching.records import BatchRecord

_EVERY = 1.0
_PAUSE = 0.1  # seconds between looks for a batch that has come


@click.command("watch")
@click.argument("source", metavar="[SOURCE", required=False)
@click.argument("rules", metavar="RULES]", required=False)
@click.option("--state", required=True, metavar="DIR", help="The folder that keeps rows, violations and progress.")
@click.option("--key", metavar="C,..", help="The columns that identify a row. Default: the key in RULES, else numbers.")
@click.option("--op", metavar="C", help="The column with insert, update or delete. Default: all rows are new.")
@click.option("--order", metavar="C", help="The column that puts several changes of one key in order.")
@click.option("--bootstrap", metavar="PATH", help="A table of rows that existed before the first file arrived.")
@click.option("--once", is_flag=True, help="Process the files that are there, then exit.")
@click.option(
    "--every",
    type=click.FloatRange(min=0),
    default=_EVERY,
    show_default=True,
    metavar="S",
    help="Look for new files every S seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per batch.")
@click.option("--webhook", metavar="URL", help="Post a rule whenever it breaks or holds again.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warn"]),
    help="End when a rule of this severity breaks (warn: any rule).",
)
@click.option(
    "--serve",
    metavar="PORT",
    help="Show a page at http://127.0.0.1:PORT/ (HOST:PORT: to other machines too). Without SOURCE, only that.",
)
@click.option(
    "--driver-bytes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Keep more than N bytes of rows and indexes on the executors (default: 1 GB; 0: all).",
)
@hiding_options
@file_options
@shared
@speaking_of_options
def command(
    options: SharedOptions,
    source: str | None,
    rules: str | None,
    state: str,
    key: str | None,
    op: str | None,
    order: str | None,
    bootstrap: str | None,
    once: bool,
    every: float,
    as_json: bool,
    webhook: str | None,
    fail_on: str | None,
    serve: str | None,
    driver_bytes: int | None,
    schema: str | None,
    header: bool,
    csv: dict[str, Any] | None,
    mask: tuple[str, ...],
    no_values: bool,
) -> Exit:
    """Watch the rows of files as they arrive in SOURCE, and print a line per batch.

    SOURCE is a folder or glob of CSV, JSON or Parquet files on this machine; a file must appear whole, as after a
    rename, and is read once. RULES is a file of rules, or the text of one rule. DIR/violations is a table of all
    violations, open and resolved, that Spark and Arrow can read at any time. Run again, the command continues where it
    stopped, even if it was killed; RULES may have changed. Ctrl-C or SIGTERM ends it. The exit code is that of a check
    of all rows.

    --mask and --no-values hold for the page and for errors; DIR has the rows themselves.
    """
    context = click.get_current_context()
    signals = context.with_resource(interruption(context.find_root().obj))
    if source is None or rules is None:
        if serve is None or source is not None:
            raise click.UsageError(
                "Give SOURCE and RULES, or only --state and --serve to show the page of what is kept."
            )
        return _show(refute.Watch(state), _Shown(*address_of(serve), mask, not no_values), options.quiet)
    shown = None if serve is None else _Shown(*address_of(serve), mask, not no_values)
    if Path(rules).is_dir():
        raise OptionError(f"{rules!r} is a folder, not RULES, which come after SOURCE.", option="RULES", path=rules)
    book = refute.RuleBook.of(rules)
    book = book if options.nulls is None else book.with_nulls(Nulls.of(options.nulls))
    folder = local_path(state, "--state needs a folder on this machine.").absolute()
    place = local_path(source, "SOURCE must be on this machine. For other streams, use refute.watch.").absolute()
    _refuse(source, place, folder, op, order)
    names = tuple(name.strip() for name in key.split(",")) if key else tuple(book.key) or None
    _require_known(mask, tuple(book), names or (_kept_key(folder) if mask else ()))

    from refute.cli.watch import words  # with the loops that a monitor runs, which help does not need
    from refute.cli.watch.printed import Printed
    from refute.cli.watch.webhook import Webhook
    from refute.relation.read.csv.options import CsvOptions
    from refute.relation.read.schema import Schema
    from refute.watching.places import WatchPlaces

    given, written = Schema.of(schema, header=header), CsvOptions.of(csv)

    posting = None if webhook is None else Webhook(webhook, WatchPlaces(folder).posted, partial(say, err=True))
    printed = Printed(WatchPlaces(folder).printed, partial(_tell, as_json=as_json, quiet=options.quiet))
    with waiting("Starting", options.quiet):
        session = start_spark(options, brief=once and size_of(str(place)) <= SMALL)

    from refute.api.watch import batch_before, begin
    from refute.spark.source.files import literally
    from refute.spark.watch.files import FileReader, arriving
    from refute.watching.watcher import WatchOptions

    with _unlogged(options.verbose):
        with _interrupting(signals):
            watch = begin(
                folder,
                arriving(session, literally(str(place)) if place.is_dir() else str(place)),
                WatchOptions(tuple(book), names, op, order, driver_bytes=driver_bytes),
                FileReader(str(place), given, written),
                bootstrap=bootstrap,
                once=once,
                every=None if once else every,
                fail_on=fail_on,
                following=printed.begin,
                starting=signals.note,
            )
        page = None
        try:
            if shown is not None:
                page = PageServer(watch, shown.host, shown.port, shown.hidden, values=shown.values)
                say(f"page: {page.address}", err=True)
            former = batch_before(watch)
            if former is not None and former not in watch.batches[-1:]:
                former = None  # as there is more to tell
            if posting is not None and former is not None:  # as the command may have been killed before it could
                posting.tell(former.batch, former.time, words.states(watch.rules, former))
            for record in _followed(watch, signals):
                printed.tell([record])
                if posting is not None:
                    posting.tell(record.batch, record.time, words.states(watch.rules, record))
        finally:
            with _ending(signals):
                watch.stop()
            printed.tell(watch.batches)  # the batch that it was in, too
            if page is not None:
                page.close()
            if posting is not None:
                posting.close()
    if signals.is_asked and not watch.batches:  # so nothing has been checked
        raise KeyboardInterrupt
    if not (printed.count or as_json or options.quiet):
        say(words.nothing_new(watch.counts) if watch.batches else "No rows have arrived yet.")
    return exit_of(watch)


def _followed(watch: refute.Watch, signals: Interruption) -> Iterator[BatchRecord]:
    """What each batch does, until the stream ends, or the command is asked to; raises what has ended the stream."""
    while not signals.is_asked:
        with _ending(signals):
            is_active = watch.is_active
            yield from watch.follow(0)
            if not is_active:
                return
        signals.wait(_PAUSE)


@contextmanager
def _ending(signals: Interruption) -> Iterator[None]:
    """Meanwhile the stream may have ended before us, as whoever stops a service sends Java the same signal."""
    try:
        yield
    except EngineError:
        if not signals.is_asked:
            raise


@contextmanager
def _interrupting(signals: Interruption) -> Iterator[None]:
    """Meanwhile what goes wrong because of a signal is an interruption."""
    try:
        yield
    except Exception:
        if signals.is_asked:
            raise KeyboardInterrupt from None
        raise


def exit_of(watch: refute.Watch) -> Exit:
    """The exit code of a check of all rows, which are read only where a tolerance asks for more than numbers."""
    newest = watch.batches[-1:]
    limits = [rule.tolerance for rule in watch.rules if rule.tolerance]
    if any(one.rows is not None or one.suspects is not None for one in limits):
        return Exit(watch.report().exit_code) if newest else Exit.HOLDS
    counts = watch.counts
    broken = [rule for one in newest for rule in watch.rules if not rule.allows(counts[rule.name], 0, one.n_rows, None)]
    failed = {rule.severity for rule in broken}
    return Exit.ERROR if Severity.ERROR in failed else Exit.WARN if failed else Exit.HOLDS


def _refuse(source: str, place: Path, folder: Path, op: str | None, order: str | None) -> None:
    if order is not None and op is None:
        raise OptionError("--order needs --op: without operations, no row replaces another.", option="--order")
    if not place.is_dir() and not glob.has_magic(str(place)):
        if place.exists():
            raise OptionError(
                f"{source!r} is a file. Name its folder, or a glob such as '{place.parent}/*{place.suffix}'.",
                path=source,
            )
        raise missing_file(source)
    if place == folder or place in folder.parents:
        raise OptionError(
            f"--state {folder} is inside SOURCE, where its own files would arrive. Name a folder elsewhere.",
            option="--state",
            path=str(folder),
        )


class _Shown(NamedTuple):
    """The page that is served: where, and without which values."""

    host: str
    port: int
    hidden: tuple[str, ...]
    values: bool


def _require_known(mask: Sequence[str], rules: Sequence[Rule], key: Sequence[str]) -> None:
    """Raises OptionError for a column that no page would show: it may be one that is misspelled."""
    read = list(dict.fromkeys((*key, *(name for rule in rules for name in rule.columns))))
    for name in mask:
        if name not in read:
            raise OptionError(
                f"--mask names {name!r}, which neither the rules nor the key have. Their columns are "
                f"{', '.join(map(repr, read))}.",
                option="--mask",
                column=name,
            )


def _kept_key(folder: Path) -> tuple[str, ...]:
    """The key of the rows in a folder; none where it has no rows yet."""
    with suppress(RefuteError):
        return refute.Watch(folder).key
    return ()


def _show(watch: refute.Watch, shown: _Shown, quiet: bool) -> Exit:
    """Shows the page of what is kept, until Ctrl-C."""
    _require_known(shown.hidden, watch.rules, watch.key)
    page = PageServer(watch, shown.host, shown.port, shown.hidden, values=shown.values)
    if not quiet:
        say(f"page: {page.address}", err=True)
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        page.close()
    return Exit.HOLDS


def _tell(record: BatchRecord, as_json: bool, quiet: bool) -> None:
    from refute.cli.watch import words

    if as_json:
        hand_over(words.json_line(record) + "\n")
    elif not quiet:
        say(words.line(record))


@contextmanager
def _unlogged(verbose: bool) -> Iterator[None]:
    """Meanwhile Py4J does not write to stderr what a batch raises, which the command says itself."""
    logger = logging.getLogger("py4j")
    before = logger.level
    if not verbose:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
