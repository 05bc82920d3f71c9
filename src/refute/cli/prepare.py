"""`refute prepare`: once per machine, what makes Spark start faster from then on."""

from __future__ import annotations

import time

import click

from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.progress import waiting
from refute.cli.terminal import say
from refute.errors import EngineError
from refute.faults import needing


@click.command("prepare")
@shared
def command(options: SharedOptions) -> Exit:
    """Make an archive of Java classes, so that Spark starts in about half the time.

    This is optional. It takes about a minute and 200 MB in the user's cache (REFUTE_CACHE_DIR). Run it again after an
    upgrade of Java or Spark.
    """
    with needing("Spark", "spark"):
        from refute.spark.session.archive import ClassArchive
        from refute.spark.session.java import find_java
    archive = ClassArchive.of(find_java())
    started = time.monotonic()
    with waiting("Preparing", options.quiet):
        there, made = archive.exists, archive.make()
    if not made:
        raise EngineError(
            f"cannot make the class archive in {archive.folder}: another process is making it, the folder is not "
            "writable, or this Java does not support such archives. Spark works without it",
            path=str(archive.folder),
        )
    if not options.quiet:
        took = "already there" if there else f"made in {time.monotonic() - started:.0f} s"
        say(f"{archive.folder}: {took}")
    return Exit.HOLDS
