"""A class archive for Spark: its classes loaded once, written to the cache, and mapped by every later start.

Java calls this application class-data sharing. Spark loads some ten thousand classes before its first row, and with an
archive it need not parse and verify them again. Java itself checks that an archive fits its version and its class path,
and goes on without it when not, so an archive can only ever save time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from refute.runtime.cache import cache_directory, fingerprint, is_ours, own_folder
from refute.spark.session.java import Java
from refute.writing import write_text

_SOURCE = Path(__file__).parents[3]  # where this Refute lies, which may be known by the path of this process alone
_REHEARSE = """
import runpy, sys
sys.path.append(sys.argv.pop(1))
runpy.run_module("refute.spark.session.rehearsal", run_name="__main__", alter_sys=True)
"""
_ABANDONED = 600  # seconds after which a lock is left over from a process that died


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one Java and one Spark: a base of Java's own classes, and Spark's on top."""

    java: Java
    folder: Path

    @classmethod
    def of(cls, java: Java) -> ClassArchive:
        """The archive for this Java and the installed Spark, whether it exists or not."""
        package = importlib.util.find_spec("pyspark")
        jars = Path(package.origin or "").parent / "jars" if package else Path()
        changed = jars.stat().st_mtime_ns if jars.is_dir() else 0
        return cls(java, cache_directory() / "classes" / fingerprint(java.executable, java.version, jars, changed))

    @property
    def base(self) -> Path:
        """Java's own classes. Trimmed Java images ship none, so we make our own."""
        return self.folder / "java.jsa"

    @property
    def top(self) -> Path:
        """Spark's classes."""
        return self.folder / "spark.jsa"

    @property
    def seal(self) -> Path:
        """A note of both sizes, written last: Java stops on a file that was cut short, so it is never given one."""
        return self.folder / "sizes"

    @property
    def exists(self) -> bool:
        """Whether it is there, whole, and written by nobody else: Java runs what it holds."""
        if not all(map(is_ours, (self.folder.parent, self.folder, self.base, self.top, self.seal))):
            return False
        try:
            return self.seal.read_text(encoding="ascii") == self._sizes()
        except OSError:
            return False

    def _sizes(self) -> str:
        return f"{self.base.stat().st_size} {self.top.stat().st_size}"

    def options(self) -> list[str]:
        """The arguments with which Java uses it; none when it does not exist."""
        return [f"-XX:SharedArchiveFile={self.base}{os.pathsep}{self.top}"] if self.exists else []

    def make(self, rehearse: str = _REHEARSE) -> bool:
        """Make it, by a Spark that a Python runs with this code, unless it exists or another process is at it; say
        whether it exists now."""
        if self.exists:
            return True
        root = self.folder.parent.parent
        if own_folder(root, self.folder.parent.name, self.folder.name) != self.folder:
            return False  # not ours alone
        with self._lock() as mine:
            if not mine:
                return False
            draft = self.folder / f"spark-{os.getpid()}.draft"
            try:
                self._dump(draft, rehearse)
                if draft.exists():
                    os.chmod(draft, 0o600)
                    os.replace(draft, self.top)
                    write_text(self.seal, self._sizes(), mode=0o600)
            finally:
                draft.unlink(missing_ok=True)
        return self.exists

    def _dump(self, draft: Path, rehearse: str) -> None:
        """Write both files; the second at the exit of a Spark that did a little of everything."""
        base = self.folder / f"java-{os.getpid()}.draft"
        dump = [str(self.java.executable), "-Xlog:disable", "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
        done = subprocess.run(dump, capture_output=True, check=False)
        if done.returncode == 0 and base.exists():
            os.chmod(base, 0o600)
            os.replace(base, self.base)
            # Java writes the file when it exits, after Python; capturing its output waits for that end too.
            # With -P nothing is imported from the current folder, whatever lies beside the user's data.
            rehearsal = [sys.executable, "-P", "-c", rehearse, str(_SOURCE), str(self.base), str(draft)]
            subprocess.run(rehearsal, capture_output=True, check=False)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[bool]:
        lock = self.folder / "lock"
        with contextlib.suppress(FileNotFoundError):
            if time.time() - lock.stat().st_mtime > _ABANDONED:
                lock.unlink()
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            yield False
            return
        try:
            yield True
        finally:
            lock.unlink(missing_ok=True)
