"""What a run of `refute` says to the shell."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes, fixed for users and their scripts."""

    HOLDS = 0  # all rules hold
    ERROR = 1  # a rule of severity `error` failed
    WARN = 2  # only rules of severity `warn` failed
    FAILED = 3  # could not run: bad rule, bad data, bad flag
    PARTIAL = 4  # finished partly: a cap was hit, and the output says which
