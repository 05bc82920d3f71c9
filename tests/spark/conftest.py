"""Sessions for the tests: one JVM for the whole run, which a classic session owns and a Connect session talks to."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from refute.spark.archive import ClassArchive
from refute.spark.java import find_java
from refute.spark.session import start
from refute.spark.warning import calm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what needs the JVM in one process when tests run in several."""
    for item in items:
        if "spark" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("spark"))


CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"  # what PySpark asks before it builds a classic or a Connect expression


@pytest.fixture(scope="session")
def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def spark(_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The classic session; its JVM serves Spark Connect as well."""
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(_port),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(f"--conf {k}={v}" for k, v in settings.items()) + " pyspark-shell"
    java = find_java()
    brief = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    try:
        session = start("local[2]", java, [*ClassArchive.of(java).options(), *brief])
    finally:
        if before is None:
            del os.environ["PYSPARK_SUBMIT_ARGS"]
        else:
            os.environ["PYSPARK_SUBMIT_ARGS"] = before
    yield session
    session.stop()


@pytest.fixture(scope="session")
def _connected(spark: SparkSession, _port: int) -> Iterator[SparkSession]:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    with calm(), connect_mode():
        session = ConnectSession.builder.remote(f"sc://127.0.0.1:{_port}").create()
        yield_me = session
    yield yield_me  # type: ignore[misc]
    with connect_mode():
        session.client.close()


@contextlib.contextmanager
def connect_mode() -> Iterator[None]:
    """Expressions made meanwhile are those of Spark Connect."""
    os.environ[CONNECT_MODE] = "1"
    try:
        yield
    finally:
        os.environ.pop(CONNECT_MODE, None)


@pytest.fixture
def connect(_connected: SparkSession) -> Iterator[SparkSession]:
    """The Connect session; while a test holds it, PySpark builds Connect expressions."""
    with connect_mode():
        yield _connected


@pytest.fixture(params=["classic", "connect"])
def spark_kind(request: pytest.FixtureRequest) -> SparkSession:
    """A session of each kind in turn: a test that asks for it runs twice."""
    found = request.getfixturevalue("spark" if request.param == "classic" else "connect")
    assert hasattr(found, "createDataFrame")
    return found  # type: ignore[no-any-return]
