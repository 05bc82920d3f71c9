"""Files that Arrow cannot read, as errors that name the file."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from refute.errors import RefuteError
from refute.faults import not_utf8, ragged_row, short, unreadable

_RAGGED = re.compile(r"CSV parse error: .*?Expected \d+ columns, got \d+: (.*)", re.DOTALL)


@contextlib.contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever Arrow or the system says of this file meanwhile is a DataError."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise not_utf8(str(file)) from error
    except UnicodeEncodeError as error:  # half a character, which JSON can spell
        raise unreadable(str(file), f"it holds text that is not Unicode ({error.reason})") from error
    except (pa.ArrowException, OSError, csv.Error) as error:
        raise _explained(str(file), str(error)) from error


def _explained(file: str, text: str) -> RefuteError:
    """The error for what Arrow or the system says of a file."""
    ragged = _RAGGED.search(text)
    return unreadable(file, short(text)) if ragged is None else ragged_row(file, ragged[1])
