"""`refute demo`: the main jobs on the sample that ships with Refute."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import refute
from refute.cli.discover import describe_proposals
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.apart import require_apart
from refute.cli.output.places import Place
from refute.cli.output.progress import counting, following, waiting
from refute.cli.source import Opened, begin_spark, engine_option, open_data
from refute.cli.terminal import say, say_lines
from refute.data import RULES, TABLE
from refute.errors import EngineError, InferredTypesWarning, OptionError, ended
from refute.writing import write_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN = 6
_PAGE = "refute-demo.html"
# For so small a table, planning again after each stage and generating code take longer than the work itself.
_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
_NEXT = """\
Next, with data of your own:
  refute discover sales.csv --out rules.yaml     rules that the rows support, as a file to edit
  refute check sales.csv rules.yaml              the rows that break them, and the few to blame
  refute check 'sales/*.parquet' rules.yaml --html report.html --quarantine apart/"""


@click.command("demo")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    default=_PAGE,
    show_default=True,
    help="Where the page goes.",
)
@engine_option
@shared
def command(options: SharedOptions, page: Path, engine: str) -> Exit:
    """Find rules in the sample that ships with Refute, check others, and show the rows that clash.

    With --engine auto, rules are checked on Spark where it is installed, and otherwise in this process.
    """
    if str(page) == "-":
        raise OptionError(
            "--html - cannot be used here, as stdout has the story. Name a file.", option="--html", value="-"
        )
    require_apart([Place(str(page), "--html")], [("the sample", str(TABLE)), ("its rules", str(RULES))])
    warnings.simplefilter("ignore", InferredTypesWarning)  # the sample's types are known to be right
    propose, starting = refute.propose, _begun(options, engine)  # Spark starts while rules are proposed
    _say(options, f"{TABLE}: 1,000 rows of a made-up table of tax payers, a few of them wrong.\n")
    _say(options, f"$ refute discover {TABLE.name} --top {_SHOWN}")
    with following("Proposing", options.quiet) as follow:
        found = propose(TABLE, engine="local", progress=follow)
    _say(options, describe_proposals(TABLE.name, found, _SHOWN) + "\n")
    _say(options, f"$ refute check {TABLE.name} {RULES.name} --html {page}")
    book = refute.load_rules(RULES)
    with waiting("Starting", options.quiet):
        opened, remark = _opened(options, engine, starting)
    with counting("Checking", len(book), options.quiet, spark=opened.on_spark) as step:
        # On Spark as for a large table: tasks answer. So few rows would otherwise come here, as those to blame do.
        report = _checked(opened, book, options, step, **({"driver_bytes": 0} if opened.on_spark else {}))
        whole = _checked(opened, book, options) if opened.on_spark else report
        suspects = whole.suspects
    if not options.quiet:
        from refute.report.forms.as_text import lines  # which loads all that a report can do

        say_lines([*lines(report, suspects=suspects), []])
    _say(options, f"{suspects.count:,} rows are to blame for all of that. {remark}")
    missed = _missed(whole, page)
    if missed is None:
        _say(options, f"All of it as a page, to open in a browser: {page.absolute()}")
    else:
        say(f"refute: {missed}", err=True)
    _say(options, f"\n{_NEXT}")
    return Exit.HOLDS if missed is None else Exit.PARTIAL


def _checked(
    opened: Opened, book: refute.RuleBook, options: SharedOptions, step: Callable[[Any], None] | None = None, **how: Any
) -> refute.Report:
    reading = {**opened.reading, **how}
    about: dict[str, Any] = {"key": book.dataset.key, "nulls": options.nulls, "name": TABLE.name}
    return refute.check(opened.table, book, progress=step, **about, **reading)


def _begun(options: SharedOptions, engine: str) -> Future[SparkSession] | None:
    """The Spark that starts for the demonstration; None where this process does without."""
    if engine == "local" or (engine == "auto" and importlib.util.find_spec("pyspark") is None):
        return None
    if not (options.master or options.remote):
        options = replace(options, conf={**_FEW_ROWS, **options.conf})
    return begin_spark(options, brief=True)


def _opened(options: SharedOptions, engine: str, starting: Future[SparkSession] | None) -> tuple[Opened, str]:
    """The sample, and a word on who answers for it."""
    if starting is None:
        adds = (
            "Spark, which `pip install 'refute[spark]'` adds, does the same for tables of any size."
            if engine == "auto"
            else "Spark gives the same answers for tables of any size."
        )
        return open_data(str(TABLE), "local", options), f"This process checked them. {adds}"
    try:
        session = starting.result()
    except EngineError as error:
        if engine == "spark" or options.master or options.remote:
            raise
        return open_data(str(TABLE), "local", options), f"This process checked them, as Spark did not start: {error}"
    where = options.master or options.remote or "embedded in this process"
    return Opened(str(TABLE), {"engine": "spark"}, session), f"Spark checked them ({where}), as it would on a cluster."


def _missed(report: refute.Report, page: Path) -> str | None:
    """Writes the page; why that cannot be, where it cannot: the story goes on without it."""
    try:
        write_text(page, report.to_html())
    except (OSError, OptionError) as error:
        return f"The page was not written: {ended(str(error))} --html F names another file."
    return None


def _say(options: SharedOptions, text: str) -> None:
    if not options.quiet:
        say(text)
