"""Where files are answered for: in this process if they are small, on Spark if they are large or only Spark knows them.

Both give the same answers. Spark takes seconds to start, which small files are not worth; large ones are, as are
tables of a catalog and files that are not on this machine. Without Spark, what fits into memory is answered here.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from refute.faults import missing_package, too_large_without_spark, unknown_without_spark
from refute.language.addresses import is_address
from refute.relation.read.files import local_files
from refute.relation.read.formats import FileFormat, format_of, is_packed
from refute.runtime.memory import memory_here

_SEPARATORS = re.compile(r"[/\\*?]")  # which names of tables do not have
# Where Spark may find files that this machine does not have, as its settings can name another file system.
_SETTINGS = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION")


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """What is small: at most so many bytes of plain text, or of files that are packed or compressed.

    `growth` is how many times their plain bytes rows take in memory while they are worked on.
    """

    text: int = 256 << 20
    packed: int = 64 << 20
    growth: int = 5

    def is_small(self, size: FileSize) -> bool:
        """Whether files of this size are answered for in this process."""
        return size.text <= self.text and size.packed <= self.packed

    def fits(self, size: FileSize, memory: int) -> bool:
        """Whether files of this size can be answered for within so many bytes of memory."""
        return self.growth * (size.text + size.packed * (self.text // self.packed)) <= memory


@dataclass(frozen=True, slots=True)
class FileSize:
    """The bytes of files: of plain text, and of those that hold more than their size shows."""

    text: int
    packed: int

    @classmethod
    def of(cls, files: Iterable[Path]) -> FileSize:
        """The size of files on this machine."""
        text = packed = 0
        for file in files:
            kind = format_of(file.name)
            plain = kind is not None and (kind.delimiter is not None or kind is FileFormat.JSON)
            size = file.stat().st_size
            if plain and not is_packed(file.name):
                text += size
            else:
                packed += size
        return cls(text, packed)


def answers_on_spark(table: str | Path, limits: SizeLimits = SizeLimits()) -> bool:
    """Whether Spark answers for what a path, a glob or the name of a catalog table means.

    Raises EngineError where only Spark can and it is not installed.
    """
    text = os.fspath(table)
    has_spark = importlib.util.find_spec("pyspark") is not None
    if not _is_here(text):
        if is_address(text) and not has_spark:
            raise missing_package(f"Reading {text!r}", "pyspark", "spark")
        may_be_table = isinstance(table, str) and not _SEPARATORS.search(text) and format_of(text) is None
        if may_be_table and not has_spark:
            raise unknown_without_spark(text)
        return is_address(text) or may_be_table or (has_spark and _has_other_files())
    files = local_files(text)
    if any(format_of(file.name) is FileFormat.ARROW for file in files):  # which Spark does not read
        return False
    size = FileSize.of(files)
    if limits.is_small(size) or (not has_spark and limits.fits(size, memory_here())):
        return False
    if not has_spark:
        raise too_large_without_spark(text, size.text + size.packed)
    return True


def _is_here(text: str) -> bool:
    """Whether a path or glob names files of this machine, or nothing at all, which is said without Spark."""
    try:
        return not text.strip() or os.path.exists(text) or bool(glob.glob(text, recursive=True))
    except ValueError:  # a zero byte
        return True


def _has_other_files() -> bool:
    """Whether a Spark runs in this process, or its settings were given, which may name another file system."""
    running = "pyspark.sql" in sys.modules and sys.modules["pyspark.sql"].SparkSession.getActiveSession() is not None
    return running or any(os.environ.get(name) for name in _SETTINGS)
