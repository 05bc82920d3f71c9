"""The command `refute`, and `python -m refute`, which hears Ctrl-C while it is still being loaded."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line, run it, and leave the process with its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from refute.cli.app import main as command

    signal.signal(signal.SIGINT, before)
    command()


def _interrupted(number: int, frame: FrameType | None) -> None:
    """Ends the process as the command does, which would show the line of some import."""
    os.write(2, b"refute: Interrupted.\n")
    os._exit(3)


if __name__ == "__main__":
    main()
