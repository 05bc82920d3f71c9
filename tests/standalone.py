"""A standalone cluster of Spark on this machine, from the pip package: for tests that need executors of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

import refute as rf
from refute.spark.session.java import find_java
from refute.spark.session.session import BRIEF

Process = subprocess.Popen[bytes]


def environment(*, refute: bool = True) -> dict[str, str]:
    """The variables with which its processes find Java, this Python and, unless told not to, Refute."""
    source = str(Path(rf.__file__).parents[1])
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH")) if part)
    own = {
        "JAVA_HOME": str(find_java().launcher_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(BRIEF),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
    }
    found = {**os.environ, **own}
    if not refute:
        del found["PYTHONPATH"]
    return found


@contextmanager
def standalone(folder: Path, *, workers: int, cores: int, refute: bool = True) -> Iterator[tuple[str, list[Process]]]:
    """The address of a master, and its workers of 1 GB each, every one in a process group of its own.

    Without `refute` their Python is told of no path that has it.
    """
    settings = environment(refute=refute)
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    ports = ("--port", str(port), "--webui-port", str(free_port()))
    started = [_spark_class(folder, "master", "master.Master", *ports, settings=settings)]
    try:
        _wait_for(port)
        options = ("--cores", str(cores), "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / "work"))
        for i in range(workers):
            started.append(_spark_class(folder, f"worker{i}", "worker.Worker", *options, master, settings=settings))
        yield master, started[1:]
    finally:
        for process in started:
            kill(process)


def kill(process: Process) -> None:
    """Kill the process and all that it started, at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _spark_class(folder: Path, log: str, name: str, *options: str, settings: dict[str, str]) -> Process:
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *options]
    with (folder / f"{log}.log").open("wb") as out:
        return subprocess.Popen(command, env=settings, stdout=out, stderr=out, start_new_session=True)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the master did not start"
            time.sleep(0.2)
