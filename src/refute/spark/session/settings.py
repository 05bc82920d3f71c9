"""Settings of Spark and Python files that a user gives: for a session to be started, or for one that runs already."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from refute.errors import EngineError, OptionError, ended
from refute.faults import any_of, missing_file
from refute.language.addresses import is_address

PYTHON = "spark.pyspark.python"
OF_THE_DRIVERS_JAVA = (  # taken when Java starts, and by nothing later
    "spark.driver.memory",
    "spark.driver.extraJavaOptions",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
)
_SUFFIXES = (".py", ".zip", ".egg", ".whl", ".jar")


def adjust(session: SparkSession, settings: Mapping[str, str], where: str) -> None:
    """Set what a session takes while it runs; raises OptionError for a setting that it took when it started."""
    for name, value in settings.items():
        try:
            taken = name.startswith("spark.sql.") or session.conf.isModifiable(name)
            if taken:
                session.conf.set(name, value)
        except (PySparkException, Py4JError) as error:
            raise _refused(name, where) from error
        if not taken:
            raise _refused(name, where)


def _refused(name: str, where: str) -> OptionError:
    return OptionError(
        f"{where} accepts the setting {name!r} only when it starts, or does not know it. Set it there, or leave it "
        "out.",
        option=name,
    )


def check_files(paths: Sequence[str]) -> None:
    """Raises OptionError for a Python file that cannot be sent to executors."""
    for path in paths:
        if not path.lower().endswith(_SUFFIXES):
            raise OptionError(
                f"{path!r} is not a Python file for executors. Their names end in {any_of(_SUFFIXES)}.",
                option="py_files",
                path=path,
            )
        if not is_address(path) and not os.path.isfile(path):
            raise missing_file(path, OptionError)


def add_files(session: SparkSession, paths: Sequence[str]) -> None:
    """Have Python workers import from these files."""
    try:
        if paths:
            session.addArtifacts(*paths, pyfile=True)
    except (PySparkException, Py4JError, OSError, ValueError) as error:
        raise EngineError(
            f"Cannot send {', '.join(paths)} to Spark's executors: {ended(str(error))}",
            paths=tuple(paths),
            reason=str(error),
        ) from error
