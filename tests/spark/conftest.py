"""Sessions of each kind for the tests: beside the classic one, a Connect session that talks to the same JVM."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from refute.spark.session.warning import calm
from thorough import THOROUGH


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each case of a test in one kind of session, in turn, unless everything is tried.

    A test of a single case runs in both kinds, save in CI, where its kind is drawn by the seed of the run.
    """
    if not THOROUGH:
        left_out = _twins(items)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _twins(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each case that would run in both kinds of sessions, the one that does not run."""
    found: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        given = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if given.pop("spark_kind", None) is not None:
            test = item.nodeid.partition("[")[0]
            found.setdefault(test, {}).setdefault(repr(given), []).append(item)
    in_ci = os.environ.get("HYPOTHESIS_PROFILE") == "ci"
    twins = set()
    for test, cases in found.items():
        if in_ci or len(cases) > 1:
            first = zlib.crc32(test.encode()) + int(os.environ["REFUTE_SEED"]) if in_ci else 0
            twins |= {both[(first + n) % 2] for n, both in enumerate(cases.values()) if len(both) == 2}
    return twins


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
    """A session of each kind in turn: a test that asks for it runs twice where nothing is left out."""
    found = request.getfixturevalue("spark" if request.param == "classic" else "connect")
    assert hasattr(found, "createDataFrame")
    return found  # type: ignore[no-any-return]
