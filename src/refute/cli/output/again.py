"""The command that runs, as text: what to run next differs from it in a few options only."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import click

from refute.display import in_one_line

_DONE = ("history", "write_baseline")  # options whose work a second run would only do twice


def again(*more: str, command: click.Command | None = None, arguments: Sequence[str] = ()) -> str:
    """This command as one line for a shell with more options, or another command with the options that both have.

    `arguments` follow those that were typed. What adds to a history, or writes a baseline, is left out.
    """
    context = click.get_current_context()
    chosen = command or context.command
    known = {name for param in chosen.params for name in param.opts}
    typed: list[str] = list(context.find_root().obj or ())[1:]
    given, _, order = context.command.make_parser(context).parse_args(typed)
    words: list[str] = []
    options: list[str] = []
    for param in dict.fromkeys(order):
        assert param.name is not None
        if param.name in _DONE or not known.issuperset(param.opts):
            continue
        if isinstance(param, click.Argument):
            words += _listed(given[param.name])
        else:
            options += _spelled(param, given[param.name])
    words += arguments
    options += more
    looks_like_option = any(word.startswith("-") and word != "-" for word in words)
    rest = [*options, "--", *words] if looks_like_option else [*words, *options]
    return in_one_line(shlex.join(["refute", str(chosen.name), *rest]))


def _spelled(param: click.Parameter, value: Any) -> Iterator[str]:
    """An option as it is typed, with its value."""
    flag = max(param.opts, key=len)
    if isinstance(param, click.Option) and param.is_flag:
        yield flag if value or not param.secondary_opts else param.secondary_opts[0]
        return
    for one in _listed(value):
        yield from (flag, one)


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else [value]
