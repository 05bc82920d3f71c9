"""Files that Arrow cannot read, as errors that name the file."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from refute.errors import DataError

_LONGEST = 300


@contextlib.contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever Arrow or the system says of this file meanwhile is a DataError."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"cannot read {str(file)!r}: it is not text in UTF-8 ({error.reason})") from error
    except UnicodeEncodeError as error:  # half a character, which JSON can spell
        raise DataError(f"cannot read {str(file)!r}: it holds text that is not Unicode ({error.reason})") from error
    except (pa.ArrowException, OSError, csv.Error) as error:
        raise DataError(f"cannot read {str(file)!r}: {_short(str(error))}") from error


def _short(text: str) -> str:
    """The text without what Arrow quotes of a damaged file beyond some letters."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
