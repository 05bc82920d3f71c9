"""How a CSV file is written, where it is not written as most are: one set of options for every reader."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from refute.errors import OptionError, did_you_mean
from refute.faults import wrong_value

_UTF8 = ("utf-8", "utf-8-sig", "ascii")
_NAMED = {"\\t": "\t", "tab": "\t"}
_SWITCHES = (b"\\u0041", b"\x1b$B0!")  # with which some encodings say that the letters behind mean others
_SIGNS = frozenset(("\t", *map(chr, range(32, 127))))


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """What separates cells, what quotes them, how characters are encoded, and which cells are null besides empty ones.

    `delimiter` None is that of the file's name: a comma, or a tab for .tsv. `quote` None is none. A cell that is one of
    `null_values` is null, in quotes or not; an empty cell in quotes is the empty text, unless '' is one of them. An
    encoding is UTF-8 or has one byte per character, such as cp1252. With `as_given`, files are read so even where
    they look as if they had another delimiter or encoding.
    """

    delimiter: str | None = None
    quote: str | None = '"'
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = ()
    as_given: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "delimiter", _NAMED.get(self.delimiter or "", self.delimiter))
        set_(self, "quote", self.quote or None)
        nulls: Any = self.null_values
        given = (nulls,) if isinstance(nulls, str) else tuple(nulls or ())
        set_(self, "null_values", given)
        for name, sign in (("delimiter", self.delimiter), ("quote", self.quote)):
            if sign is not None and (not isinstance(sign, str) or sign not in _SIGNS):
                usual = "';' or a tab" if name == "delimiter" else "'\"'"
                raise wrong_value(name, f"one character, such as {usual}", sign)
        if self.delimiter is not None and (self.delimiter == self.quote or self.delimiter.isalnum()):
            raise wrong_value("delimiter", "a character that is not the quote, a letter or a digit", self.delimiter)
        for value in given:
            if not isinstance(value, str):
                raise wrong_value("null_values", "a text or a list of them", value)
        if not isinstance(self.as_given, bool):
            raise wrong_value("as_given", "True or False", self.as_given)
        if not isinstance(self.encoding, str):
            raise wrong_value("encoding", "the name of an encoding, such as 'cp1252'", self.encoding)
        set_(self, "encoding", _encoding(self.encoding))

    @classmethod
    def of(cls, given: Any) -> CsvOptions:
        """The options of a mapping; those of most files where nothing is given."""
        if given is None or isinstance(given, cls):
            return given or USUAL
        names = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            raise wrong_value("csv", f"a mapping with {', '.join(names)}", given)
        for name in given:
            if name not in names:
                hint = did_you_mean(str(name), names) or f" Its options are {', '.join(names)}."
                raise OptionError(f"csv= has no option {name!r}.{hint}", option="csv", value=str(name))
        return cls(**given)

    @property
    def is_utf8(self) -> bool:
        """Whether letters are written as UTF-8."""
        return self.encoding == "utf-8"

    @property
    def upper_letters(self) -> str:
        """The letters of the bytes from 128 to 255."""
        return "".join(_letter(bytes((byte,)), self.encoding) for byte in range(128, 256))

    def separates(self, usual: str) -> str:
        """What separates cells in files whose names ask for the `usual`; raises OptionError where that is the quote."""
        used = self.delimiter or usual
        if used == self.quote:
            raise wrong_value("quote", "a character that is not the delimiter", self.quote)
        return used


def not_csv(kind: str, path: str) -> OptionError:
    """The error for options about CSV and files of another format."""
    return OptionError(
        f"{path!r} is {kind}, and csv= says how CSV files are written. Leave it out (--delimiter and the like).",
        option="csv",
    )


def _is_by_bytes(encoding: str) -> bool:
    """Whether every byte is a letter of its own, wherever it stands, and those of ASCII are what they are there."""
    ascii_ = bytes(range(128))
    pairs = (bytes((first, second)) for first in range(128, 256) for second in (64, 161))
    try:
        return all(
            len(written.decode(encoding, "replace")) == len(written) for written in (*_SWITCHES, *pairs)
        ) and ascii_.decode(encoding) == ascii_.decode("ascii")
    except ValueError:  # as of a codec that does not have all of these bytes
        return False


@lru_cache(maxsize=64)
def _encoding(name: str) -> str:
    """The one name of an encoding; raises OptionError for what is not one of a byte per letter."""
    try:
        found = codecs.lookup(name).name
        with suppress(UnicodeError):
            b"a".decode(found)  # is a LookupError for codecs that are not about text, such as base64
    except (LookupError, ValueError):
        found = ""
    if found in _UTF8:
        return "utf-8"
    if not found:
        raise OptionError(
            f"There is no encoding {name!r}. Use utf-8, cp1252 or latin-1.", option="encoding", value=name
        )
    if not _is_by_bytes(found):
        raise OptionError(
            f"Files in {name} cannot be read: only UTF-8 and encodings with one byte per character can. Convert them "
            f"first, as with iconv -f {name} -t utf-8.",
            option="encoding",
            value=name,
        )
    return found


def _letter(byte: bytes, encoding: str) -> str:
    return byte.decode(encoding, "replace")


USUAL = CsvOptions()
