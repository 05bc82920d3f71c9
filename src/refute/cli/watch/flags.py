"""Errors of `refute.watch` in the words of the command: an argument of Python is an option there."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from refute.errors import RefuteError

P = ParamSpec("P")
T = TypeVar("T")
_ARGUMENT = re.compile(r"(?<=[ (])(key|op|order)=(?:'([^']*)')?(?=[ .;,)]|$)")


def speaking_of_options(command: Callable[P, T]) -> Callable[P, T]:
    """The command, whose errors say `--op name` instead of `op='name'`."""

    @functools.wraps(command)
    def run(*args: P.args, **given: P.kwargs) -> T:
        try:
            return command(*args, **given)
        except RefuteError as error:
            said = _ARGUMENT.sub(_option, str(error))
            if said == str(error):
                raise
            raise type(error)(said, **error.facts) from error

    return run


def _option(found: re.Match[str]) -> str:
    return f"--{found[1]}" if found[2] is None else f"--{found[1]} {found[2]}"
