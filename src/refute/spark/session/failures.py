"""What Spark says when something fails, in hundreds of lines of Java, as one plain sentence."""

from __future__ import annotations

import ast
import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from refute.errors import FACTS_NOTE, DataError, EngineError, RefuteError, SchemaError, ended
from refute.faults import (
    OTHER_QUOTE,
    missing_file,
    missing_table,
    mixed_files,
    quotation,
    ragged_row,
    short,
    unknown_column,
    unreadable,
)
from refute.spark.session.executor_python import found_wanting, remedy
from refute.spark.session.warning import calm

# A user may meet this text in an error of Spark, long after Refute has made the DataFrame that raises it.
LAYOUT_CHANGED = (
    "refute: Spark has split the input differently than when row positions were determined (the cluster or a setting "
    "changed). Get this DataFrame from Refute again, or name the columns that identify a row: key=[...]."
)


class LayoutChangedError(EngineError):
    """Spark has cut files into other tasks than when the positions of their rows were learnt."""


class JobsCancelledError(EngineError):
    """The user, or whoever runs the cluster, has cancelled jobs: nothing else is tried in their place."""


CUTS_TRIED = 3  # how often a question is asked where Spark cuts files in another way each time
_CONTEXT_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@contextlib.contextmanager
def plain_failures(what: str | None = None) -> Iterator[None]:
    """Errors of Spark raised meanwhile come out as errors of Refute; `what` names the data they are about."""
    try:
        with _unlogged(), calm():
            yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise explained(error, what) from error


def explained(error: Exception, what: str | None = None) -> RefuteError:
    """The error of Refute that says what an error of Spark is about."""
    text = str(error)
    for pattern, build in _KNOWN:
        found = re.search(pattern, text)
        if found:
            return build(found, text, what)
    gist = _gist(text)
    return EngineError(f"Spark failed{_on(what)}: {ended(gist)}", table=what, reason=gist, quoted=quotation(gist))


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark writes some errors to stderr before it raises them; meanwhile it does not."""

    def drop(record: logging.LogRecord) -> bool:
        return False

    loggers = [PySparkLogger.getLogger(name) for name in _CONTEXT_LOGGERS]
    for logger in loggers:
        logger.addFilter(drop)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(drop)


def _on(what: str | None) -> str:
    return f" on {what!r}" if what is not None else ""


def _of(what: str | None) -> str:
    return f" of {what!r}" if what is not None else ""


def _path(text: str, what: str | None) -> str | None:
    """The file that an error is about, as a user would write it; else what was read."""
    found = re.search(r"while reading file (\S+?)\.?\s", text)
    return unquote(re.sub(r"^file:/+", "/", found.group(1))) if found else what


def _file(text: str, what: str | None) -> str:
    path = _path(text, what)
    return repr(path) if path is not None else "a file"


def _gist(text: str) -> str:
    """The line that names the cause: the last `Caused by`, else what Java or Spark says first."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    causes = [line.removeprefix("Caused by:").strip() for line in lines if line.startswith("Caused by:")]
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    raised = re.findall(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)", text, re.MULTILINE)
    first = (raised[-1:] or causes[-1:] or java or lines or ["No reason was given."])[0]
    unknown_host = re.search(r"UnknownHostException: (\S+)", first)
    if unknown_host:
        return f"There is no host {unknown_host.group(1)!r}."
    first = re.sub(r"^\(?[\w.$]+(Exception|Error)\)?:? ", "", first)
    first = re.sub(r"^\[[A-Z_.0-9]+\] ", "", first)
    return short(re.sub(r"\s*SQLSTATE: \w+.*$", "", first))


def _missing_path(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return missing_file(what or found.group(1))


def _header(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    names, expected = (tuple(part.strip().split(", ")) for part in found.groups())
    return DataError(
        f"The columns of {_file(text, what)} ({', '.join(names)}) are not those of the other files or of the given "
        f"schema ({', '.join(expected)}).",
        path=_path(text, what),
        columns=names,
        expected=expected,
    )


def _after_quote(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return DataError(
        f"{_file(text, what)} has a cell in quotes with more text behind the closing one, which Spark cannot "
        f"read. Double quotes within a cell, {OTHER_QUOTE}, or use the local engine.",
        path=_path(text, what),
    )


def _malformed_cells(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return ragged_row(_path(text, what) or "a file", found.group(1))


def _malformed(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    reason = _gist(text)
    message = f"A row of {_file(text, what)} does not fit its format or schema: {ended(reason)}"
    return DataError(message, path=_path(text, what), reason=reason, quoted=quotation(reason))


def _unreadable(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    path = _path(text, what)
    gist = _gist(text)
    return unreadable(path if path is not None else "a file", gist, quoted=[gist])


def _merge(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return mixed_files(str(what), _gist(text))


def _column(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    hint = re.search(r"Did you mean one of the following\? \[(.*?)\]", text)
    known = tuple(hint.group(1).replace("`", "").split(", ")) if hint else ()
    return unknown_column(found.group(1), known)


def _table(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return missing_table(what or found.group(1).strip("`"))


def _same_name(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    where = "the DataFrame" if what is None else repr(what)
    return DataError(
        f"Spark cannot distinguish columns of {where} that are both called {found.group(1)!r}, or differ only by case. "
        "Rename one of them.",
        column=found.group(1),
    )


def _times(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return SchemaError(
        f"A column{_of(what)} has Spark's type TIME, which this session has switched off. Set "
        "spark.sql.timeType.enabled to true, or leave the column out.",
        table=what,
    )


def _no_such_type(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return DataError(
        f"Spark has no type for a column of {_file(text, what)} ({found.group(1)}). Write it in another type, or use "
        "engine='local'.",
        path=_path(text, what),
        type=found.group(1),
    )


def _scheme(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    scheme, lacking = found.groups()
    scheme = scheme or (urlsplit(what).scheme if what is not None else "") or "such"
    why = f" (it lacks the class {lacking})" if lacking else ""
    return DataError(
        f"Spark has no file system for {scheme}:// addresses{why}. Add one, as with --conf spark.jars.packages=..., "
        "or name another place.",
        address=what,
    )


def _memory(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return EngineError(
        f"Spark ran out of memory{_on(what)}. Give its executors more (spark.executor.memory, or spark.driver.memory "
        "where it runs locally), or split the data into more tasks (spark.sql.shuffle.partitions).",
        table=what,
    )


def _lost(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return EngineError(f"Lost the connection to Spark{_on(what)}: {ended(_gist(text))}", table=what, reason=_gist(text))


def _layout(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return LayoutChangedError(
        f"Spark has split the input{_of(what)} differently than before (the cluster or a setting changed), so row "
        "positions are no longer valid. Run again, or give a key.",
        table=what,
    )


def _lost_rows(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return LayoutChangedError(
        f"Spark lost an executor that held rows{_of(what)}. Run again, or give a key.", table=what
    )


def _cancelled(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    group = re.search(r"part of cancelled job group (.+?) SQLSTATE", text)
    with_group = f", with the job group {group.group(1)!r}" if group else ""
    return JobsCancelledError(f"The Spark jobs{_on(what)} were cancelled{with_group}.", table=what)


def _import(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    lacking = found_wanting()
    if lacking is None:
        lacking = f"A Python worker of Spark failed to import what it needs ({short(found.group(0))}). {remedy()}"
    return EngineError(lacking, reason=found.group(0))


def _python_version(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    theirs, ours = found.groups()
    return EngineError(
        f"Spark's executors run Python {theirs} and this process {ours}: both need the same minor version. {remedy()}",
        value=theirs,
        expected=ours,
    )


def _no_program(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return EngineError(
        f"Spark's executors cannot run {found.group(1)!r}, which is set as their Python ({found.group(2).strip()}). "
        f"{remedy()}",
        path=found.group(1),
        reason=found.group(2).strip(),
    )


def _no_answer(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    return EngineError(
        "A Python worker that Spark started did not answer in time. It may lack what it needs, or its machine was too "
        f"busy to start it. With Spark Connect, PYSPARK_PYTHON counts where the server starts. {remedy()}",
        reason=found.group(0),
    )


def _in_worker(found: re.Match[str], text: str, what: str | None) -> RefuteError:
    facts: dict[str, object] = {}
    note = re.compile(rf"^{FACTS_NOTE}(.*)$", re.MULTILINE).search(text, found.end())
    if note:
        with contextlib.suppress(ValueError, SyntaxError):  # some fact is more than numbers, texts and lists of these
            facts = ast.literal_eval(note.group(1))
    return _RAISED.get(found.group(1), EngineError)(found.group(2).strip(), **facts)


_RAISED: dict[str, type[RefuteError]] = {kind.__name__: kind for kind in (DataError, EngineError, SchemaError)}

_KNOWN: tuple[tuple[str, Callable[[re.Match[str], str, str | None], RefuteError]], ...] = (
    (re.escape(LAYOUT_CHANGED), _layout),
    (r"CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND|Checkpoint block \S+ not found", _lost_rows),
    (r"refute\.errors\.(\w+): (.*)", _in_worker),
    (r"PYTHON_VERSION_MISMATCH[^\n]*?version: (\S+) than that in driver: ([\d.]*\d)", _python_version),
    (r'Cannot run program "([^"]*python[^"]*)"[^:\n]*: ([^\n]*)', _no_program),
    (r"(?:ModuleNotFoundError|ImportError): [^\n]*|\[PACKAGE_NOT_INSTALLED\][^\n]*", _import),
    (r"Timed out while waiting for the Python worker to connect back", _no_answer),
    (r"OutOfMemoryError|exit code:? 137|Container killed by YARN for exceeding|OOMKilled", _memory),
    (
        r"Unescaped quote character '.' inside quoted value|Unexpected character '.' following quoted value",
        _after_quote,
    ),
    (r"CSV header does not conform to the schema\.\s+Header: (.*)\s+Schema: (.*)", _header),
    (r"\[MALFORMED_CSV_RECORD\] Malformed CSV record: ((?s:.*?)) SQLSTATE", _malformed_cells),
    (r"Number of column in CSV header is not equal to number of fields[^\n]*\s+Header[^\n]*", _malformed),
    (r"\[MALFORMED_RECORD_IN_PARSING|\[INVALID_JSON_RECORD_TYPE", _malformed),
    (r"\[COLUMN_ALREADY_EXISTS\] The column `((?:[^`]|``)*)`", _same_name),
    (r"\[UNSUPPORTED_TIME_TYPE", _times),
    (r"\[PARQUET_TYPE_ILLEGAL\] Illegal Parquet type: (.*?)\.? SQLSTATE", _no_such_type),
    (r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.? SQLSTATE", _missing_path),
    (r'No FileSystem for scheme "([^"]+)"|Class (\S+FileSystem) not found', _scheme),
    (r"\[(?:UNRESOLVED_COLUMN|FIELD_NOT_FOUND)[^\]]*\][^`]*`((?:[^`]|``)*)`", _column),
    (r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+)", _table),
    (r"CANNOT_MERGE_SCHEMAS?|Failed to merge fields|CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE", _merge),
    (r"\[FAILED_READ_FILE|\[UNABLE_TO_INFER_SCHEMA|InvalidProtocolBufferException|org\.apache\.orc\.", _unreadable),
    (r"AccessDeniedException|AccessControlException|Permission denied", _unreadable),
    (r"StatusCode\.UNAVAILABLE|Py4JNetworkError|Connection reset|Connection refused|ConnectException", _lost),
    (r"An error occurred while calling \S+\s*$", _lost),  # to which no answer came
    (r"Answer from Java side is empty|SESSION_CLOSED|SparkContext was (?:shut down|stopped)|stopped SparkCont", _lost),
    (r"\[SPARK_JOB_CANCELLED\]|\[OPERATION_CANCELED\]|cancelled part of cancelled job", _cancelled),
)
