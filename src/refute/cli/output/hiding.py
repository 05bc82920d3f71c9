"""What a check keeps to itself: values of columns, in whatever it writes, errors included."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from refute.errors import OptionError

if TYPE_CHECKING:
    import refute
    from refute.cli.output.places import Place

Command = TypeVar("Command", bound=Callable[..., object])


def names_of(context: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...]:
    """The names in a list with commas between."""
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def hiding_options(command: Command) -> Command:
    """The command with `--mask` and `--no-values`, which hold for its errors too."""

    @functools.wraps(command)
    def run(*args: Any, mask: tuple[str, ...], no_values: bool, **more: Any) -> Any:
        if not (mask or no_values):
            return command(*args, mask=mask, no_values=no_values, **more)
        from refute.report.discretion import Discretion  # which loads what a report needs

        with Discretion(frozenset(mask), no_values).errors():
            return command(*args, mask=mask, no_values=no_values, **more)

    options = (
        click.option(
            "--mask", callback=names_of, metavar="C,..", help="Show *** for the values of these columns, everywhere."
        ),
        click.option("--no-values", is_flag=True, help="Show *** for all values."),
    )
    decorated: Any = run
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def require_discreet(
    place: Place | None, book: refute.RuleBook, key: Sequence[str], mask: Sequence[str], *, no_values: bool
) -> None:
    """Raise OptionError for a baseline that would hold values that are to be hidden."""
    if place is None or not (mask or no_values):
        return
    named = key or [name for rule in book for name in rule.columns]
    hidden = next((name for name in named if name in mask or (no_values and not key)), None)
    if hidden is not None:
        by = "key" if key else "values"
        hint = "Leave one of the two out." if key else "Give a --key, by which they are then named."
        raise OptionError(
            f"{place.flag} names rows by their {by}, and {'--no-values' if no_values else '--mask'} hides {hidden!r}. "
            f"{hint}",
            option=place.flag,
            column=hidden,
        )
