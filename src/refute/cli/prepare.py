"""`refute prepare`: once per machine, what makes first answers and Spark's start faster from then on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import click

import refute
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.progress import waiting
from refute.cli.terminal import say
from refute.errors import EngineError, ended

_SOURCE = str(Path(refute.__file__).parents[1])  # where this Refute lies, which may be known by our own path alone
_REHEARSE = """
import runpy, sys
sys.path.append(sys.argv.pop(1))
runpy.run_module("refute.api.rehearsal", run_name="__main__", alter_sys=True)
"""
_PARTS = ("check", "propose")


@click.command("prepare")
@click.option("--kernels", "kernels_only", is_flag=True, help="Only compile kernels, which takes some seconds.")
@shared
def command(options: SharedOptions, kernels_only: bool) -> Exit:
    """Compile what the common commands need, and make an archive of Java classes, so Spark starts faster.

    This is optional. Kernels take some seconds on two cores. The archive, which is made where Spark is installed, takes
    about a minute and 200 MB. Both go to the user's cache (REFUTE_CACHE_DIR). Run it again after an upgrade.
    """
    if not options.quiet:
        say("Compiling kernels for this machine, once, on all cores.", err=True)
    started = time.monotonic()
    with waiting("Compiling", options.quiet):
        compiled = _compile()
    if not options.quiet:
        say(f"kernels: {f'compiled in {time.monotonic() - started:.0f} s' if compiled else 'already there'}")
    if not kernels_only:
        _make_archive(options)
    return Exit.HOLDS


def _compile() -> bool:
    """Compile kernels by processes that ask common questions; says whether anything was still to compile."""
    # With -P nothing is imported from the current folder, whatever lies beside the user's data.
    calls = [[sys.executable, "-P", "-W", "ignore", "-c", _REHEARSE, _SOURCE, part] for part in _PARTS]
    processes = [subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for call in calls]
    try:
        outcomes = [(process.communicate(), process.returncode) for process in processes]
    except BaseException:
        for process in processes:
            process.kill()
            process.wait()
        raise
    for (_, said), code in outcomes:
        if code:
            reason = said.strip().rpartition("\n")[2]
            raise EngineError(f"The kernels could not be compiled: {ended(reason)}", reason=reason)
    return any(float(seconds) > 0 for (seconds, _), _ in outcomes)


def _make_archive(options: SharedOptions) -> None:
    try:
        from refute.spark.session.archive import ClassArchive
        from refute.spark.session.java import find_java
    except ModuleNotFoundError:
        if not options.quiet:
            say("Spark is not installed, so it needs no archive. `pip install 'refute[spark]'` installs it.")
        return
    archive = ClassArchive.of(find_java())
    started = time.monotonic()
    with waiting("Preparing Spark", options.quiet):
        there, made = archive.exists, archive.make()
    if not made:
        raise EngineError(
            f"Cannot make the class archive in {archive.folder}: another process is making it, the folder is not "
            "writable, or this Java does not support such archives. Spark works without it.",
            path=str(archive.folder),
        )
    if not options.quiet:
        took = "already there" if there else f"made in {time.monotonic() - started:.0f} s"
        say(f"{archive.folder}: {took}")
