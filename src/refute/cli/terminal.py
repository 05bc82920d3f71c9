"""The one place that writes to the terminal. What it is given may come from data, and is made harmless here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from refute.display import visible
from refute.display.tones import Line, Tone

_STYLES: dict[Tone, dict[str, Any]] = {
    Tone.BAD: {"fg": "red", "bold": True},
    Tone.DOUBTFUL: {"fg": "yellow", "bold": True},
    Tone.GOOD: {"fg": "green"},
    Tone.FAINT: {"dim": True},
    Tone.MARKED: {"fg": "red", "bold": True},
}


def say(text: str, *, err: bool = False) -> None:
    """Show a text for people, on stdout or stderr, through a pipe as on a terminal."""
    click.echo(_writable(visible(text), err), err=err)


def say_lines(lines: Iterable[Line]) -> None:
    """Show lines on stdout, in colour on a terminal that has not been asked to do without (NO_COLOR)."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line in lines:
        spans = [(_writable(visible(text), False), tone) for text, tone in line]
        if not coloured:
            click.echo("".join(text for text, _ in spans).rstrip())
            continue
        styled = (click.style(text, **_STYLES[tone]) if tone is not None and text else text for text, tone in spans)
        click.echo("".join(styled), color=True)


def hand_over(text: str) -> None:
    """Give a text that is a file of its own to stdout: exactly through a pipe, harmless on a terminal."""
    if sys.stdout.isatty():
        click.echo(_writable(visible(text), False), nl=False)
    else:
        click.echo(text.encode("utf-8", "replace"), nl=False)


def _writable(text: str, err: bool) -> str:
    """The text with a question mark for each character that the stream cannot write, as one of ASCII only."""
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
