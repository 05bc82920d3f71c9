"""Files that Arrow cannot read, as errors that name the file."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from refute.faults import not_utf8, short, unreadable


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
        reason = short(str(error))
        quoted = () if isinstance(error, OSError) else [reason]
        raise unreadable(str(file), reason, quoted=quoted) from error
