"""Where files go: to a path on this machine, or to an address such as s3://bucket/file that only Spark may know."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from refute.errors import OptionError
from refute.faults import wrong_value

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # longer than the letter of a Windows drive


def is_address(text: str) -> bool:
    """Whether a text names a place by a scheme, as in s3://bucket/file or file:///tmp/file."""
    return _ADDRESS.match(text) is not None


def is_local_address(text: str) -> bool:
    """Whether it is an address on this machine: file:/path or file:///path."""
    return is_address(text) and urlsplit(text).scheme.lower() == "file"


def local_path(place: str | os.PathLike[str], remedy: str = "Write the text that this returns there yourself.") -> Path:
    """The path on this machine that a text means; raises OptionError for an address of another file system."""
    if not isinstance(place, str | os.PathLike):
        raise wrong_value("The path", "a text or a Path", place)
    text = os.fsdecode(place)
    if not is_address(text):
        return Path(text)
    parts = urlsplit(text)
    if is_local_address(text) and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    raise OptionError(f"{text!r} is not on this machine. {remedy}", path=text)
