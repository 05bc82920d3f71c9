"""What every test shares: Hypothesis profiles that suit two slow cores, and one JVM for each process that runs tests.

With the profile `ci` most property tests draw the same examples in every run. A quarter of them, another in each run,
draw fresh ones by a seed that the header shows; REFUTE_SEED=<that number> draws them again.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, seed, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)
SEED = int(os.environ.setdefault("REFUTE_SEED", str(random.SystemRandom().randrange(2**32))))  # workers have it too
_SHARE = 4  # one of as many property tests draws fresh examples
_OTHERS = "another JVM"


def pytest_report_header() -> str | None:
    """The seed of the fresh examples."""
    return f"fresh examples: REFUTE_SEED={SEED}" if PROFILE == "ci" else None


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal: a process that runs tests for another ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in a hook of its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give some of the property tests the seed of this run, and group those that need Spark.

    Those that share a session are in two groups, by files in turn: a session needs a JVM, and there is room for two. Of
    tests that start a JVM of their own one runs at a time, and these are the first, as sessions stay to the end.
    """
    numbers: dict[Path, int] = {}
    groups = [_OTHERS, "session 0", "session 1"]
    places = {}
    for item in items:
        group = None
        if {"spark", "spark_kind"} & set(getattr(item, "fixturenames", ())):
            number = numbers.setdefault(item.path, len(numbers))
            group = f"session {number % 2}"
        elif "spark" in item.path.parts or item.get_closest_marker("spark") is not None:
            group = _OTHERS
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        places[item] = len(groups) if group is None else groups.index(group)
        is_chosen = PROFILE == "ci" and (zlib.crc32(item.name.encode()) + SEED) % _SHARE == 0
        if is_chosen and isinstance(item, pytest.Function) and hasattr(item.function, "hypothesis"):
            seed(SEED)(item.function)
    items.sort(key=places.__getitem__)


@pytest.fixture(scope="session")
def connect_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def spark(connect_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The classic session; its JVM serves Spark Connect as well."""
    from refute.spark.session.archive import ClassArchive
    from refute.spark.session.java import find_java
    from refute.spark.session.session import BRIEF, start

    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(connect_port),
        "spark.sql.shuffle.partitions": "4",
        "spark.python.factory.idleWorkerMaxPoolSize": "1",  # of each of the three kinds of Python workers
        # On such small tables Spark compiles longer than it computes; in tests with a JVM of their own it does compile.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # of Java and its Python workers, whose threads are many
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(f"--conf {k}={v}" for k, v in settings.items()) + " pyspark-shell"
    java = find_java()
    try:
        # Room for what lasts no longer than a job, and for all that Java compiles, which it else drops and needs again.
        room = ("-Xmn256m", "-XX:ReservedCodeCacheSize=128m")
        options = [*ClassArchive.of(java).options(), *BRIEF, *room]
        session = start("local[2]", java, options, settings={"spark.driver.memory": "768m"})
    finally:
        if before is None:
            del os.environ["PYSPARK_SUBMIT_ARGS"]
        else:
            os.environ["PYSPARK_SUBMIT_ARGS"] = before
    yield session
    session.stop()
