"""Files that Arrow cannot read, as errors that name the file."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from refute.errors import DataError


@contextlib.contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever Arrow or the system says of this file meanwhile is a DataError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot read {str(file)!r}: {error}") from error
