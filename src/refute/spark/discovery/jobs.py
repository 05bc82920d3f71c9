"""Spark jobs of a discovery, which end when the time is up or the user says so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import wait
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from refute.discovery.work import Budget
from refute.spark.session.failures import JobsCancelledError
from refute.spark.session.jobs import JobCrew

_BEAT = 0.05  # seconds between looks at the clock
_GRACE = 1.5  # seconds that cancelled jobs are waited for: limits and Ctrl-C are heeded within two
T = TypeVar("T")


def unless_expired(session: SparkSession, budget: Budget, run: Callable[[], T]) -> T | None:
    """What `run` gives; None once the budget has expired, when the jobs it started are cancelled.

    Jobs that cannot be cancelled are left to end by themselves, without anybody waiting for them.
    """
    crew = JobCrew(session, 1)
    running = crew.submit("discover", run)
    while not running.done() and not budget.expired:
        try:
            wait([running], _BEAT)
        except KeyboardInterrupt:
            budget.interrupt()
    if running.done():
        crew.close()
    else:
        with contextlib.suppress(KeyboardInterrupt):  # a second time: then nobody is waited for
            crew.stop(_GRACE)
    if not running.done():
        return None
    try:
        return running.result()
    except (PySparkException, Py4JError, JobsCancelledError):
        if not (budget.expired or budget.interrupted):
            raise
        return None
