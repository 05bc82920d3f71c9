"""What a CSV file is, where its bytes are not text of the encoding in use."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from refute.errors import DataError
from refute.faults import AS_GIVEN, csv_advice, quotation, unreadable
from refute.relation.read.csv.options import CsvOptions

_PIECE = 1 << 20
_AROUND = 12  # letters beside such a one that are shown
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # for bytes that an encoding does not have
# Letters that show UTF-8 where all of a file is valid: their bytes mean something in other encodings too, and by chance
# some such bytes are valid, but hardly these: A with a hat or tilde and then a sign, or letters in a row.
SURELY_UTF8 = "[\u00a0-\u00ff\u2000-\u22ff\U0001f000-\U0001faff]|[\u0100-\u017f][A-Za-z]|[\u0100-\U0010ffff]{2}"
EXAMPLE_OF_UTF8 = rf"\w{{0,{_AROUND}}}(?:{SURELY_UTF8})\w{{0,{_AROUND}}}"
_SURE, _EXAMPLE = re.compile(SURELY_UTF8), re.compile(EXAMPLE_OF_UTF8)
_PACKED = (  # how files begin that are not text, and what they are
    (b"\x1f\x8b", "a gzip archive. Name it .csv.gz"),
    (b"BZh", "a bzip2 archive. Name it .csv.bz2"),
    (b"\x28\xb5\x2f\xfd", "a zstandard archive. Name it .csv.zst"),
    (b"PK\x03\x04", "a zip archive or a workbook. Unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old workbook. Save the sheet as CSV"),
    (b"\xfd7zXZ", "an xz archive. Unpack it"),
    (b"PAR1", "a Parquet file. Name it .parquet"),
    (b"ORC", "an ORC file. Name it .orc"),
    (b"%PDF-", "a PDF file"),
)


def check_is_text(path: str, beginning: bytes) -> None:
    """Raises DataError for a file that begins as archives, Parquet files and the like do, and not as text does."""
    if not any(byte < 9 or 13 < byte < 32 for byte in beginning):
        return
    for sign, kind in _PACKED:
        if beginning.startswith(sign):
            raise unreadable(path, f"It is not text, but seems to be {kind}.")


def check_encoding(file: Path, options: CsvOptions) -> None:
    """Raises DataError where another encoding than UTF-8 was named, and the file is UTF-8."""
    if options.is_utf8 or options.as_given:
        return
    example = _example_of_utf8(file)
    if example:
        raise named_in_vain(str(file), options.encoding, example)


def named_in_vain(path: str, encoding: str, example: str) -> DataError:
    """The error for a file that is UTF-8, where another encoding was named; the example is a word of it."""
    misread, meant = repr(example.encode().decode(encoding, "replace")), repr(example)
    found = f"All of {path!r} is UTF-8, and {encoding} was named, which makes {misread} of {meant}"
    return _vain(found, path, encoding, quotation(misread, meant))


def marked_as_utf8(path: str, encoding: str) -> DataError:
    """The error for a file that begins with the mark of UTF-8, where another encoding was named."""
    return _vain(f"{path!r} begins with the mark of UTF-8, and {encoding} was named", path, encoding)


def _vain(found: str, path: str, encoding: str, quoted: object = None) -> DataError:
    return DataError(
        f"{found}. Leave the encoding out. {AS_GIVEN}",
        path=path,
        option="encoding",
        value=encoding,
        expected="utf-8",
        quoted=quoted,
    )


def not_encoded(path: str, encoding: str, sample: bytes = b"") -> DataError:
    """The error for a file whose bytes are not text of its encoding, with the one that it likely has."""
    if encoding != "utf-8":
        likely = _likely(sample, encoding)
        return DataError(
            f"Cannot read {path!r}: It has bytes that {encoding} does not have. It may be {likely}. "
            f"{csv_advice('encoding', likely)}",
            path=path,
            option="encoding",
            value=encoding,
            expected=likely,
        )
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return wide_letters(path, "utf-32")
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return wide_letters(path)
    likely = _likely(sample, encoding)
    return DataError(
        f"Cannot read {path!r}: It is not UTF-8 text. It may be {likely}. {csv_advice('encoding', likely)}",
        path=path,
        option="encoding",
        expected=likely,
    )


def wide_letters(path: str, likely: str = "utf-16") -> DataError:
    """The error for a file with more than one byte for every letter."""
    hint = f"It seems to be {likely.upper()}. Convert it first, as by iconv -f {likely} -t utf-8."
    return DataError(f"Cannot read {path!r}: It is not UTF-8 text. {hint}", path=path, expected=likely)


def _likely(sample: bytes, named: str) -> str:
    """The encoding that some bytes likely have, which is not the one that was named."""
    with suppress(UnicodeDecodeError):
        if named != "utf-8" and not sample.isascii():
            codecs.getincrementaldecoder("utf-8")().decode(sample)
            return "utf-8"
    has_all = _UNKNOWN not in "".join(_letter(byte) for byte in set(sample))
    return "cp1252" if has_all and named != "cp1252" else "latin-1"


def _letter(byte: int) -> str:
    return bytes((byte,)).decode("cp1252", "replace")


def _example_of_utf8(file: Path) -> str:
    """A word whose letters are surely UTF-8, if all bytes of a file are; looked at until one is not."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    example = before = ""
    try:
        for piece in _pieces(file):
            if piece.isascii() and not decoder.getstate()[0]:
                before = piece[-_AROUND:].decode("ascii")
                continue
            text = before + decoder.decode(piece)
            if not example and (sure := _SURE.search(text)):
                found = _EXAMPLE.search(text, max(0, sure.start() - _AROUND))
                example = sure[0] if found is None else found[0]
            before = text[-_AROUND:]
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return ""
    return example


def _pieces(file: Path) -> Iterator[bytes]:
    with pa.input_stream(str(file), compression="detect") as stream:
        while piece := stream.read(_PIECE):
            yield bytes(piece)
