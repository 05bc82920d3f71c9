"""What the Python of Spark's executors lacks: asked by a small job, once a job with Python workers has failed."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from refute.faults import all_of

NEEDED = ("refute", "lark", "numba", "numpy", "pyarrow", "ruamel.yaml")  # packages that Python workers import
REMEDY = (
    "Install refute[spark] there for Python {python}, or name a Python that has it with PYSPARK_PYTHON or "
    "--conf spark.pyspark.python=PATH (docs/cluster.md says how)."
)
_TASKS = 16  # enough that each of a few executors gets one


@dataclass(frozen=True, slots=True)
class Worker:
    """The Python of one executor: where it runs, and which version of each package it has, None where it has none."""

    host: str
    python: str
    version: str
    packages: dict[str, str | None]

    @property
    def missing(self) -> tuple[str, ...]:
        """The packages that it needs and lacks."""
        return tuple(name for name in NEEDED if self.packages.get(name) is None)


def remedy() -> str:
    """What to do about executors with another Python than this process has."""
    return REMEDY.format(python=".".join(platform.python_version_tuple()[:2]))


def found_wanting() -> str | None:
    """What the executors of the running session lack, as a sentence; None where they lack nothing, or do not answer."""
    try:
        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        asked = F.udf(_look(NEEDED), "string", useArrow=False)
        rows = session.range(0, _TASKS, 1, _TASKS).select(asked("id").alias("worker")).distinct().collect()
    except (PySparkException, Py4JError, RuntimeError, ConnectionError):  # the failure that led here says more
        return None
    return sentence([_worker(row["worker"]) for row in rows])


def sentence(workers: Sequence[Worker]) -> str | None:
    """What the one of these workers lacks that lacks most; None where all have what they need."""
    ours = _worker(_look(("refute",))(0)).packages["refute"]
    lacking = sorted(workers, key=lambda worker: (-len(worker.missing), worker.host, worker.python))
    for worker in lacking:
        where = f"The Python of Spark's executors ({worker.python}, version {worker.version}, on {worker.host})"
        if worker.missing:
            return f"{where} lacks {all_of(worker.missing)}. {remedy()}"
        theirs = worker.packages["refute"]
        if theirs != ours:
            return f"{where} has refute {theirs}, and this process has {ours}. Install the same version on both sides."
    return None


def _worker(text: str) -> Worker:
    return Worker(**json.loads(text))


def _look(names: Sequence[str]) -> Callable[[int], str]:
    """What describes the Python that runs it. A nested function travels as code, so a worker needs no Refute."""

    def look(task: int) -> str:
        import importlib
        import json
        import platform
        import socket
        import sys

        versions: dict[str, str | None] = {}
        for name in names:
            try:
                versions[name] = str(getattr(importlib.import_module(name), "__version__", "?"))
            except ImportError:
                versions[name] = None
        facts = {"host": socket.gethostname(), "python": sys.executable, "version": platform.python_version()}
        return json.dumps({**facts, "packages": versions})

    return look
