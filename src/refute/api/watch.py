"""Violations of a Spark stream, batch by batch."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from refute.api.functions import check, suspects
from refute.api.monitor import place_of, refuse_other_tables
from refute.api.monitor_options import MOST_PAIRS, bound_of
from refute.api.tables import as_key, check_driver_bytes, is_spark
from refute.display.markup import Follows, table_part
from refute.display.plurals import plural, with_article
from refute.errors import OptionError
from refute.faults import needing, no_key_for_feed, unknown_choice, wrong_value
from refute.language.addresses import local_path
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook, Severity
from refute.live.engine import LiveEngine
from refute.report import Report, Suspects
from refute.report.history import PastRun
from refute.report.violations import Violations
from refute.watching.reading import WatchView
from refute.watching.records import BatchRecord, Following, Instant, KnownHistory
from refute.watching.watcher import Watcher, WatchOptions

if TYPE_CHECKING:
    import pandas

    from refute.spark.watch.batches import BatchReader, BatchTaker

_MOST_POINTS = 200  # of a line that shows violations over time
_MOST_NEW = 100  # batches among which one is looked for
_PAUSE = 0.1  # seconds between looks for a batch that has come
_started: dict[str, Watch] = {}  # the last one of this process, by folder


class Watch:
    """The rows and violations of a stream in a folder, as of its last batch.

    `refute.watch` gives one whose stream runs. `Watch(folder)` is one to look at: it needs neither Spark nor the
    stream, which may run elsewhere. All functions of Refute accept either as a table.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = local_path(folder, "A watch needs a folder on this machine.")
        self._view = WatchView(self.folder)
        self._view.counts  # noqa: B018  raises DataError where there is no watch
        self._history = KnownHistory(self._view.places.history)
        self._query: Any = None
        self._taker: BatchTaker | None = None
        self._watcher: Watcher | None = None
        self._lock = threading.RLock()

    @property
    def query(self) -> Any:
        """Spark's own query; None where this is only a look, or where a rule that broke has kept the stream from it."""
        return self._query

    @property
    def is_active(self) -> bool:
        """Whether the stream runs."""
        if self._query is None:
            return False
        from refute.spark.session.failures import plain_failures

        with plain_failures("the stream"):
            return bool(self._query.isActive)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Waits until the stream ends, or for some seconds; whether it has ended. Raises what has ended it."""
        for _ in self.follow(timeout):
            pass
        return not self.is_active

    def follow(self, timeout: float | None = None) -> Iterator[BatchRecord]:
        """What each batch does from now on, until the stream ends, or for some seconds; raises what has ended it."""
        end = None if timeout is None else time.monotonic() + timeout
        following = self._following
        while True:
            active = self.is_active
            yield from following.read()
            if not active:
                break
            if end is not None and time.monotonic() >= end:
                return
            time.sleep(_PAUSE)
        self._ended()

    def stop(self) -> None:
        """Stops the stream after the current batch, and releases the folder."""
        if self._query is not None:
            from refute.spark.session.failures import plain_failures

            try:
                with plain_failures("the stream"):
                    self._query.stop()
            finally:
                self._let_go()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        watcher = self._watcher
        return watcher.rules if watcher is not None and watcher.is_open else self._view.rules

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self._view.key

    @property
    def counts(self) -> dict[str, int]:
        """How many violations of each rule are open."""
        return self._view.counts

    def violations(self, rule: Any, limit: int | None = None) -> Violations:
        """The clashing rows of a rule, as `refute.violations` returns them."""
        own = self.rules[place_of(rule, self.rules, "watch")]
        most = limit if isinstance(limit, int) and limit > 0 else None  # any other is refused
        with self._lock:
            watcher = self._watcher
            source = watcher if watcher is not None and watcher.is_open else self._view
            return Violations(source.listing(own, most), own, limit)

    def report(self) -> Report:
        """The report of all rules, as `refute.check` returns it."""
        return check(self, RuleBook.of(list(self.rules)))

    @property
    def suspects(self) -> Suspects:
        """The few rows to blame, as `refute.suspects` gives them for the rows of the last batch."""
        return suspects(self, RuleBook.of(list(self.rules)))

    def table(self) -> pa.Table:
        """All rows, in the order of their arrival; those on the executors in no particular order."""
        return self.live_engine().relation.arrow

    @property
    def batches(self) -> list[BatchRecord]:
        """What each batch did, the newest last; of very many, only the most recent."""
        return self._history.read()

    def record(self, batch: int) -> BatchRecord | None:
        """What one of the newest batches did; None for one that has not arrived. For listeners of Spark's progress."""
        newest = self._history.read()[-_MOST_NEW:]
        return next((one for one in reversed(newest) if one.instant == (batch, 0)), None)

    def page(self, *hidden: str, values: bool = True) -> str:
        """A page of HTML: rules, how many violations were open over time, the newest clashes, and suspects.

        It is without the values of hidden columns, or with `values=False` without any, as `Report.hiding` has it.
        """
        return page_of(self, hidden, values=values)

    def live_engine(self, *, newest_first: bool = False) -> LiveEngine:
        """The engine for the rows of the last batch; it lists violations as they came, or `newest_first`."""
        with self._lock:
            watcher = self._watcher
            if watcher is not None and watcher.is_open:
                return watcher.live_engine(newest_first=newest_first)
            state = self._view.state
            return LiveEngine(state, newest_first=True) if newest_first else LiveEngine.of(state)

    def to_pandas(self) -> pandas.DataFrame:
        """All rows, as a pandas DataFrame, in the order that `table` has them."""
        with needing("to_pandas()"):
            return self.table().to_pandas()

    def _repr_html_(self) -> str:
        return table_part(repr(self), ("rule", "open violations"), list(self.counts.items()))

    def __repr__(self) -> str:
        parts = plural(len(self.rules), "rule"), plural(sum(self.counts.values()), "open violation")
        return f"Watch({', '.join(parts)}, {'running' if self.is_active else 'not running'})"

    def _run(self, query: Any, taker: BatchTaker, watcher: Watcher | None, last: Instant | None) -> None:
        self._query, self._taker, self._watcher = query, taker, watcher
        self._following = Following(self._view.places.history, last)

    def _ended(self) -> None:
        """Raises what has ended the stream, unless it came to its end or was stopped."""
        if self._query is None:
            return
        from refute.spark.session.failures import explained, plain_failures
        from refute.spark.watch.batches import STOPPED, StoppedError

        self._let_go()
        with plain_failures("the stream"):
            raised = self._query.exception()
        if raised is None:
            return
        own = None if self._taker is None else self._taker.error
        if isinstance(own, StoppedError) or (own is None and STOPPED in str(raised)):
            return
        raise (own or explained(raised, "the stream")) from None

    def _let_go(self) -> None:
        with self._lock:
            if self._taker is not None:
                self._taker.close()


def page_of(watch: Watch, hidden: Sequence[str] = (), *, values: bool = True, follows: Follows | None = None) -> str:
    """The page of a watch; one that `follows` what serves it shows a newer one by itself."""
    from refute.report.page.page import render

    report = check(_Newest(watch), RuleBook.of(list(watch.rules)), name=str(watch.folder))
    return render(report.hiding(*hidden, values=values), history=_Past(watch), follows=follows)


def batch_before(watch: Watch) -> BatchRecord | None:
    """What the last batch did before a watch began to follow its stream; None where there was none."""
    last = watch._following.after
    return next((one for one in reversed(watch.batches) if last is not None and one.instant <= last), None)


class _Newest:
    """A watch as a table whose newest violations come first."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.key = watch.key

    def live_engine(self) -> LiveEngine:
        """The engine for the rows of the last batch."""
        return self._watch.live_engine(newest_first=True)


class _Past:
    """What batches did, as earlier results."""

    def __init__(self, watch: Watch) -> None:
        self._batches = watch.batches

    def runs(self, data: str, rules: Sequence[str]) -> dict[str, list[PastRun]]:
        """The open violations of each rule after the latest batches; of very many batches, after some."""
        found: dict[str, list[PastRun]] = {name: [] for name in rules}
        step = max(1, -(-len(self._batches) // _MOST_POINTS))
        for record in self._batches[::-step][::-1]:
            for rule in record.rules:
                if rule.name in found:
                    state = "error" if rule.broken else "ok"
                    found[rule.name].append(PastRun(record.time[:19], state, rule.open, None))
        return found


def watch(
    stream: Any,
    rules: Any = None,
    *,
    state: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    op: str | None = None,
    order: str | None = None,
    bootstrap: Any = None,
    nulls: str | Nulls | None = None,
    once: bool = False,
    every: float | None = None,
    fail_on: str | None = None,
    driver_bytes: int | None = None,
    store: str = "auto",
    most_pairs: int = MOST_PAIRS,
) -> Watch:
    """Watches a streaming DataFrame: after every batch, the violations of all rows so far are known, exactly once.

    `state` is a folder that keeps rows, violations and Spark's checkpoint. Without an operation column, all rows are
    new. `op` names the column that holds `insert`, `update` or `delete`, or `update_preimage` and `update_postimage`;
    several changes of one key in a batch need `order`, a column that puts them in order. `bootstrap` is a table of
    rows that existed before the stream. `once` processes what is there now, then ends; `every` starts a batch every so
    many seconds. `fail_on` ends the stream when a rule of that severity breaks: `error`, or `warn` for any. Rows and
    indexes of more than `driver_bytes` (1 GB by default) are on the executors, which then need `state` under the same
    path; with 0, all are.
    """
    check_driver_bytes(driver_bytes)
    if not is_spark(stream):
        raise OptionError(
            f"A stream is a DataFrame of spark.readStream, not {with_article(type(stream).__name__)}.",
            option="stream",
            type=type(stream).__name__,
        )
    with needing("Spark", "spark"):
        from refute.spark.watch.batches import ColumnReader
        from refute.spark.watch.stream import Stream, require_stream
    require_stream(stream)
    folder = local_path(state, "A watch needs a folder on this machine.").absolute()
    book = rules_for(folder, rules, nulls)
    refuse_other_tables(book, "watch")
    names = as_key(key) if key is not None else tuple(book.key) or None
    if names is None and (folder / "state").exists():
        names = WatchView(folder).key
    fitted = Stream.of(stream, tuple(book), names or (), op, order)
    first = None
    if bootstrap is not None and is_spark(bootstrap):
        first = Stream.of(bootstrap, tuple(book), names or (), None, None).frame
    options = WatchOptions(
        fitted.rules,
        None if names is None else fitted.key,
        fitted.op,
        fitted.order,
        bound_of(store, most_pairs),
        driver_bytes,
    )
    return begin(
        folder,
        fitted.frame,
        options,
        ColumnReader(),
        bootstrap=bootstrap if first is None else first,
        once=once,
        every=every,
        fail_on=fail_on,
    )


def rules_for(folder: Path, rules: Any, nulls: str | Nulls | None) -> RuleBook:
    """The rules that are given, else those of the watch in a folder."""
    book = RuleBook.of(list(WatchView(folder).rules) if rules is None else rules)
    return book if nulls is None else book.with_nulls(Nulls.of(nulls))


def begin(
    folder: Path,
    frame: Any,
    options: WatchOptions,
    reader: BatchReader,
    *,
    bootstrap: Any = None,
    once: bool = False,
    every: float | None = None,
    fail_on: str | None = None,
    following: Callable[[Instant | None], Instant | None] = lambda last: last,
    starting: Callable[[], None] = lambda: None,
) -> Watch:
    """The watch of a stream whose batches a reader reads, which runs from now on.

    `following` says after which record it follows the stream, given the last one before this run; it is asked before
    a batch is taken. `starting` is called when nothing but the stream is left to be started.
    """
    from refute.spark.session import is_connect
    from refute.spark.watch.batches import BatchTaker, watcher_in
    from refute.spark.watch.stream import start

    if fail_on is not None and fail_on not in [one.value for one in Severity]:
        raise unknown_choice("fail_on", fail_on, [one.value for one in Severity])
    if every is not None and not (isinstance(every, int | float) and every >= 0):
        raise wrong_value("every", "a number of seconds", every)
    if once and every is not None:
        raise OptionError("once= and every= cannot be used together.", option="every", value=every)
    if options.order is not None and options.op is None:
        raise OptionError("order= needs op=: without operations, no row replaces another.", option="order")
    if options.op is not None and not options.key and not (folder / "state").exists():
        raise no_key_for_feed("watch")
    severity = None if fail_on is None else Severity(fail_on)
    taker = BatchTaker(str(folder), options, reader, severity)
    former = _started.get(taker.folder)
    if former is not None and not former.is_active:
        former._let_go()
    watcher = watcher_in(taker.folder, options, frame.sparkSession, fresh=True)
    try:
        found = Watch(folder)
        last = following(watcher.before)
        judged = watcher.new_rules  # any other that is broken may be corrected by the next batch
        if bootstrap is not None and not watcher.has_begun:
            watcher.bootstrap(reader.bootstrap(bootstrap, watcher))
            judged = watcher.rules
        is_over = taker.broken(watcher, judged) is not None
        if is_over or is_connect(frame.sparkSession):  # whose server takes the batches: this was to see that it can
            taker.close()
        starting()
        query = None if is_over else start(frame, taker, once=once, every=every)
    except BaseException:
        taker.close()
        raise
    found._run(query, taker, None if is_connect(frame.sparkSession) else watcher, last)
    _started[taker.folder] = found
    return found
