"""Errors of Python in the words of a command: an argument is an option there."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from refute.errors import RefuteError, RuleError

P = ParamSpec("P")
T = TypeVar("T")
_NAMES = "key|op|order|nulls|columns|kinds|error|max_predicates|cross_columns|one_row|constants|almost"
_VALUE = r"'[^']*'|\[[^]]*\]|True|\d+(?:\.\d+)?"
_PYTHON = re.compile(r"[]'[]")  # what stands around names there, and not in an option
_ARGUMENT = re.compile(rf"(?<=[ (])({_NAMES})=({_VALUE})?(?=[ .;,)]|$)")


def speaking_of_options(command: Callable[P, T]) -> Callable[P, T]:
    """The command, whose errors say `--op name` instead of `op='name'`."""

    @functools.wraps(command)
    def run(*args: P.args, **given: P.kwargs) -> T:
        try:
            return command(*args, **given)
        except RuleError:  # it quotes rules, in which `(op='a'` is a comparison
            raise
        except RefuteError as error:
            said = _ARGUMENT.sub(_option, str(error))
            if said == str(error):
                raise
            raise type(error)(said, **error.facts) from error

    return run


def _option(found: re.Match[str]) -> str:
    flag = f"--{found[1].replace('_', '-')}"
    if found[2] in (None, "True"):
        return flag
    return f"{flag} {re.sub(_PYTHON, '', found[2]).replace(', ', ',')}"
