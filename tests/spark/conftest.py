"""Sessions of each kind for the tests: beside the classic one, a Connect session that talks to the same JVM."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from refute.spark.session.warning import calm
from thorough import THOROUGH


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each case of a test that has several in one kind of session, in turn, unless everything is tried."""
    if not THOROUGH:
        left_out = _twins(items)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _twins(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each case that would run in both kinds of sessions, one; none of tests with a single case."""
    found: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        given = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if given.pop("spark_kind", None) is not None:
            test = item.nodeid.partition("[")[0]
            found.setdefault(test, {}).setdefault(repr(given), []).append(item)
    several = [list(cases.values()) for cases in found.values() if len(cases) > 1]
    return {both[number % 2] for cases in several for number, both in enumerate(cases) if len(both) == 2}


CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"  # what PySpark asks before it builds a classic or a Connect expression


@pytest.fixture(scope="session")
def _connected(spark: SparkSession, connect_port: int) -> Iterator[SparkSession]:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    with calm(), connect_mode():
        session = ConnectSession.builder.remote(f"sc://127.0.0.1:{connect_port}").create()
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
