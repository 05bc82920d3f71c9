"""Jobs that are their caller's, in whichever thread they run, and that end at once when he says so.

Spark knows the group, tags, pool and description of a job by the thread that starts it. Threads of a crew have those of
the thread that made it, and a tag of their own beside: on Ctrl-C, or after a failure, nothing more is begun, and what
runs is cancelled by that tag. The caller's own thread is left as it was.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from threading import Event, Thread
from types import TracebackType
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from refute.errors import EngineError
from refute.spark.session import is_connect
from refute.spark.session.failures import JobsCancelledError

_BEAT = 0.05  # seconds between two attempts to end what runs
_LOOK = 0.5  # seconds after which a waiting thread looks whether it was interrupted, where nothing wakes it
_GRACE = 10.0  # seconds that cancelled jobs are waited for
_LONGEST = 200  # letters of a description

_GROUP_OF_THREAD = os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"  # else threads share what is set

T = TypeVar("T")


class _Around(NamedTuple):
    """The crew whose thread this is: what says that it was stopped, and the description its caller's jobs have."""

    stopped: tuple[Event, ...]
    description: str | None


_AROUND: ContextVar[_Around | None] = ContextVar("around", default=None)


class Tag:
    """A mark of the jobs of some threads, by which they are cancelled."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._name = f"refute-{uuid4().hex}"

    def put(self) -> None:
        """Mark the jobs that this thread starts from here on."""
        if is_connect(self._session):
            self._session.addTag(self._name)
        elif _GROUP_OF_THREAD:
            # A classic session finds its own tags only by the thread that has put them; the context knows all.
            self._session.sparkContext.addJobTag(self._name)

    def cancel(self) -> None:
        """Cancel the marked jobs that run now; a session that is gone runs none."""
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            if is_connect(self._session):
                self._session.interruptTag(self._name)
            else:
                self._session.sparkContext.cancelJobsWithTag(self._name)


class _NotBegunError(JobsCancelledError):
    """Another failure came first."""


class JobCrew:
    """Threads that run jobs side by side. After a failure nothing more is begun; left by an error, it cancels what runs
    and waits for its threads before the error goes on."""

    def __init__(self, session: SparkSession, threads: int) -> None:
        self._session = session
        self._most = threads
        self._tag = Tag(session)
        self._stopped = Event()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        outer = _AROUND.get()
        stopped = (self._stopped,) if outer is None else (*outer.stopped, self._stopped)
        self._around = _Around(stopped, _description(session) if outer is None else outer.description)

    def submit(self, what: str, run: Callable[..., T], *args: Any) -> Future[T]:
        """The future of what `run` gives in a thread of the crew; `what` says for users what its jobs are for."""
        future: Future[T] = Future()
        context = copy_context()

        def asked() -> T:
            if any(event.is_set() for event in self._around.stopped):
                raise _NotBegunError("The Spark jobs were cancelled.")
            _AROUND.set(self._around)
            self._tag.put()
            _describe(self._session, self._around.description, what)
            return run(*args)

        inheriting = inherited(self._session, asked)

        def task() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(context.run(inheriting))
            except BaseException as error:  # noqa: BLE001  raised where the result is asked for
                self._stopped.set()
                future.set_exception(error)

        self._queue.put(task)
        if len(self._threads) < self._most:
            # Daemons: where a job cannot be cancelled, no exit of the process waits for it.
            self._threads.append(Thread(target=self._work, name=f"refute-{len(self._threads)}", daemon=True))
            self._threads[-1].start()
        return future

    def results(self, futures: Sequence[Future[T]]) -> list[T]:
        """What the futures give, in order; the first failure is raised as soon as it is there."""
        pending: set[Future[T]] = set(futures)
        while pending:
            pending = set(wait(pending, timeout=_LOOK, return_when=FIRST_EXCEPTION).not_done)
            failures = [error for future in futures if future.done() and (error := future.exception()) is not None]
            if failures:
                raise next((error for error in failures if not isinstance(error, _NotBegunError)), failures[0])
        return [future.result() for future in futures]

    def __enter__(self) -> JobCrew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.stop()

    def close(self) -> None:
        """Wait until all that was submitted is done."""
        self._end()
        for thread in self._threads:
            thread.join()

    def stop(self, grace: float = _GRACE) -> None:
        """Begin nothing more, cancel what runs, and wait for the threads, though not longer than this."""
        self._stopped.set()
        self._end()
        deadline = time.monotonic() + grace
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < deadline:
            self._tag.cancel()  # again and again: a thread may be between two jobs
            for thread in self._threads:
                thread.join(_BEAT)

    def _end(self) -> None:
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        if not is_connect(self._session):
            # Java asks the session of a thread for its settings, such as which types there are; without one it takes
            # those that Spark ships with. Making a frame is what sets it.
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                self._session.createDataFrame([], "a int")
        while (task := self._queue.get()) is not None:
            task()


def stoppable(session: SparkSession, what: str, run: Callable[[], T]) -> T:
    """What `run` gives; Ctrl-C ends its jobs before KeyboardInterrupt goes on. `what` says what its jobs are for."""
    if _AROUND.get() is not None:
        return run()
    with JobCrew(session, 1) as crew:
        return crew.results([crew.submit(what, run)])[0]


def inherited(session: SparkSession, run: Callable[[], T]) -> Callable[[], T]:
    """`run` for another thread, whose jobs then have the group, tags, pool and other properties of this thread's."""
    if not is_connect(session):
        target: Callable[[], T] = inheritable_thread_target(session)(run)
        return target
    tags = session.getTags()

    def tagged() -> T:
        session.clearTags()
        for tag in tags:
            session.addTag(tag)
        return run()

    return tagged


def _description(session: SparkSession) -> str | None:
    """The description of the jobs of this thread."""
    if is_connect(session):
        return None
    try:
        return session.sparkContext.getLocalProperty("spark.job.description")
    except AttributeError as error:  # all that PySpark says of a context without a JVM
        message = "The Spark session of this table was stopped. Open the table again in another one."
        raise EngineError(message, reason=str(error)) from error


def _describe(session: SparkSession, theirs: str | None, what: str) -> None:
    """Let jobs of this thread say what they are for; through Connect, which has no descriptions, by a tag."""
    text = f"refute: {what}"[:_LONGEST]
    if is_connect(session):
        session.addTag(text.replace(",", ";"))
    elif _GROUP_OF_THREAD:
        session.sparkContext.setJobDescription(text if theirs is None else f"{theirs} ({text})")
