"""Files that Arrow cannot read, as errors that name the file."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from refute.faults import not_utf8, short, unreadable

_OF_NO_CELL = re.compile(
    r"Could not open Parquet input source|Parquet (magic|file size)|Not an? (Arrow|ORC|Feather)|"
    r"File (is|size) too small|Failed to parse the postscript|Malformed StripeInformation|"
    r"Invalid (column metadata|flatbuffers)|"
    r"LZ4 decompress failed|Corrupt snappy compressed data|(ZSTD|zlib|Brotli) (decompress|inflate)|"
    r"Column \d+: In chunk \d+: Invalid: (Offset|Length|Buffer)"
)  # how Arrow begins to say that a file is another one, or damaged: it shows sizes and places then


@contextlib.contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever Arrow or the system says of this file meanwhile is a DataError, which quotes what may hold cells."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise not_utf8(str(file)) from error
    except UnicodeEncodeError as error:  # half a character, which JSON can spell
        raise unreadable(str(file), f"It holds text that is not Unicode ({error.reason}).") from error
    except (pa.ArrowException, OSError, csv.Error) as error:
        reason = short(str(error))
        quoted = () if isinstance(error, OSError) or _OF_NO_CELL.match(reason) else [reason]
        raise unreadable(str(file), reason, quoted=quoted) from error
