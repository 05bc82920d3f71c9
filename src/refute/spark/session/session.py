"""A Spark session: the one that runs already, or one of our own that starts fast and says little."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from refute.errors import EngineError, OptionError, ended
from refute.runtime.memory import memory_for_spark
from refute.spark.session.archive import ClassArchive
from refute.spark.session.java import Java, find_java
from refute.spark.session.settings import OF_THE_DRIVERS_JAVA, PYTHON, add_files, adjust, check_files
from refute.spark.session.warning import calm

OUR_NAME = "refute"  # of the application, where Refute starts Spark
_QUIET_LOG = Path(__file__).with_name("log4j2-quiet.properties")
BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CONNECT_PORT = 15002  # where PySpark looks for Spark Connect unless a port is named
_PATIENCE = 5.0  # seconds to wait for a cluster to answer at all


def is_connect(session: SparkSession) -> bool:
    """Whether a session talks to a Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def running_session() -> SparkSession | None:
    """The session of this thread, else that of the process; None where Spark does not run."""
    try:
        return SparkSession.getActiveSession() or SparkSession.active()
    except (PySparkException, RuntimeError):  # there is neither
        return None


def session(
    master: str | None = None,
    remote: str | None = None,
    verbose: bool = False,
    *,
    brief: bool = False,
    settings: Mapping[str, str] | None = None,
    py_files: Sequence[str] = (),
) -> SparkSession:
    """The session to work in: the running one unless a place is named, else a new one.

    `master` is a Spark master such as `local[4]` or `spark://host:7077`, `remote` a Connect server such as
    `sc://host:15002`. `settings` are Spark's own; a session that runs already takes those that may change then, and
    refuses others. `py_files` are Python files for its executors. `brief` says that seconds of work are expected, so
    that Java compiles less: that saves a second of start, and costs up to half of the speed of work that lasts.
    """
    check_files(py_files)
    found = _found(master, remote, verbose, brief, settings or {})
    add_files(found, py_files)
    return found


def _found(
    master: str | None, remote: str | None, verbose: bool, brief: bool, settings: Mapping[str, str]
) -> SparkSession:
    if remote is not None and not remote.startswith("local"):
        connected = _connect(remote)
        adjust(connected, settings, f"Spark Connect server {remote!r}")
        return connected
    if master is None and remote is None:
        running = running_session()
        if running is not None:
            adjust(running, settings, "The running Spark session")
            return running
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            return _submitted(settings)
    connect = remote is not None
    if connect and running_session() is None:
        require_free(CONNECT_PORT)
    java = find_java()
    options = [*ClassArchive.of(java).options(), *(BRIEF if brief else ())]
    return start(remote or master or "local[*]", java, options, settings=settings, verbose=verbose, connect=connect)


def _submitted(settings: Mapping[str, str]) -> SparkSession:
    """The session of a program that spark-submit has started: its command line says where Spark runs."""
    for name in OF_THE_DRIVERS_JAVA:
        if name in settings:
            raise OptionError(f"The driver has already started without {name!r}. Pass it to spark-submit.", option=name)
    with calm():
        try:
            return SparkSession.builder.config(map=dict(settings)).getOrCreate()
        except (Py4JError, PySparkException, RuntimeError) as error:
            raise EngineError(
                f"Spark did not start within spark-submit: {ended(_sentence(error))}", reason=_sentence(error)
            ) from error


def start(
    master: str,
    java: Java,
    options: Sequence[str] = (),
    *,
    settings: Mapping[str, str] | None = None,
    verbose: bool = False,
    connect: bool = False,
) -> SparkSession:
    """A new session whose driver runs in this Java with these options; `settings` are Spark's own."""
    if not re.match(r"local(-cluster)?(\[[^\]]+\])?$|yarn$|(spark|k8s)://.", master):
        raise EngineError(
            f"{master!r} is not a Spark master. Masters are local[N], spark://host:port, k8s://host:port and yarn.",
            address=master,
        )
    for host, port in _addresses(master, "spark", 7077):
        _require_answer(host, port, f"Spark master {master!r}")
    java_options = list(options)
    if not verbose:
        java_options += ["-Xlog:disable", f"-Dlog4j2.configurationFile={_QUIET_LOG.as_uri()}"]
    chosen = {
        "spark.app.name": OUR_NAME,
        "spark.driver.defaultJavaOptions": " ".join(java_options),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.timeType.enabled": "true",  # so that files with times of day can be read
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each expression asks Java four questions more
    }
    if master.startswith("local") and not master.startswith("local-cluster"):
        chosen |= {
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": memory_for_spark(),
            "spark.python.daemon.module": "refute.spark.workers.daemon",  # whose workers start with Refute imported
        }
    builder = SparkSession.builder.remote(master) if connect else SparkSession.builder.master(master)
    given = dict(settings or {})
    for name, value in (chosen | given).items():
        builder = builder.config(name, value)
    # Spark asks the environment alone for the Python of a session that a Python program starts.
    python = given.get(PYTHON) or _python()
    with _environment(JAVA_HOME=str(java.launcher_home), PYSPARK_PYTHON=python, **_places()), calm():
        try:
            return builder.getOrCreate()
        except (Py4JError, PySparkException, RuntimeError) as error:
            raise EngineError(
                f"Spark did not start with master {master!r}: {ended(_sentence(error))}",
                address=master,
                reason=_sentence(error),
            ) from error


def _connect(remote: str) -> SparkSession:
    if not remote.startswith("sc://"):
        raise EngineError(
            f"{remote!r} is not the address of a Spark Connect server. Write it as sc://host:port.", address=remote
        )
    for host, port in _addresses(remote, "sc", CONNECT_PORT):
        _require_answer(host, port, f"Spark Connect server {remote!r}")
    with calm():
        try:
            return SparkSession.builder.remote(remote).getOrCreate()
        except (PySparkException, RuntimeError, ImportError) as error:
            raise EngineError(
                f"Spark Connect server {remote!r} did not answer: {ended(_sentence(error))}",
                address=remote,
                reason=_sentence(error),
            ) from error


def _addresses(url: str, scheme: str, port: int) -> list[tuple[str, int]]:
    """The hosts and ports that a URL names, as in `spark://a:7077,b:7077`; none when its scheme is another."""
    found = re.match(rf"{scheme}://([^/;]+)", url)
    if not found:
        return []
    parts = (part.rpartition(":") for part in found.group(1).split(","))
    return [(host, int(number)) if number.isdigit() and host else (host or number, port) for host, _, number in parts]


def _require_answer(host: str, port: int, what: str) -> None:
    """Ask whether anything listens there: Spark itself would try for a minute and then fail in many words."""
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        raise EngineError(
            f"{what} does not answer: {ended(error.strerror or str(error))}",
            address=f"{host}:{port}",
            reason=str(error.strerror or error),
        ) from error


def require_free(port: int) -> None:
    """Raise EngineError where something already listens at a port on this machine."""
    try:
        socket.create_server(("", port)).close()
    except OSError as error:
        raise EngineError(
            f"Port {port} is in use, and PySpark cannot start a local Spark Connect server on another. If one is "
            "running there, connect to it with 'sc://localhost'; otherwise give a master such as 'local[*]'.",
            address=f"localhost:{port}",
        ) from error


def _sentence(error: Exception) -> str:
    """The line of an error that names the cause: the last `Caused by`, else the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    causes = [line.removeprefix("Caused by:").strip() for line in lines if line.startswith("Caused by:")]
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return (causes[-1:] or java or lines)[0]


def _python() -> str:
    """The Python for Spark's workers: what the user chose, else this one, which has Refute installed."""
    return os.environ.get("PYSPARK_PYTHON") or sys.executable


def _places() -> dict[str, str]:
    """What keeps Spark from running what lies in the current folder, or in the one above it.

    PySpark takes `..` for its home where that looks like one. Its Python workers start with the current folder first
    on their path; they leave it out here unless this process has it there too, as a notebook has.
    """
    chosen = {}
    home = Path(pyspark.__file__).parent
    if "SPARK_HOME" not in os.environ and not (home / "spark-distribution").is_dir():
        chosen["SPARK_HOME"] = str(home)
    if Path.cwd() not in {Path(entry).absolute() for entry in sys.path}:
        chosen["PYTHONSAFEPATH"] = "1"
    return chosen


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set variables for the processes started meanwhile, and put back what was there."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
