"""The one place that writes to the terminal. What it is given may come from data, and is made harmless here."""

from __future__ import annotations

import sys

import click

from refute.display import visible


def say(text: str, *, err: bool = False) -> None:
    """Show a text for people, on stdout or stderr, through a pipe as on a terminal."""
    click.echo(_writable(visible(text), err), err=err)


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
