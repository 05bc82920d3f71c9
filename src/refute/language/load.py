"""Rule books from files, text and plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from refute.errors import RuleError
from refute.faults import missing_file, not_utf8, unreadable
from refute.language.formats import MAX_CHARACTERS, TableFacts, read_rules
from refute.language.rulebook import RuleBook
from refute.language.rulebook.book import is_file_like
from refute.language.rulebook.loader import book_from_plain


def load_rules(
    rules: str | os.PathLike[str] | Mapping[str, object],
    *,
    format: str | None = None,
    header: Sequence[str] | None = None,
    table: TableFacts | None = None,
) -> RuleBook:
    """The rule book of a file, of its text, or of plain mappings in the shape of the YAML.

    The format, our YAML or that of another tool, is detected by content unless `format` names it. All mistakes in a
    file are reported in one `RuleBookError`, each with its line. `header` names the columns of the table in their
    order, for formats that number them (Weever, Desbordante).
    """
    if header is not None:
        table = replace(table or TableFacts(), columns=tuple(header))
    if isinstance(rules, Mapping):
        return book_from_plain(rules)
    if not isinstance(rules, str | os.PathLike):
        raise RuleError(
            f"rules must be a file, a text or a mapping, not {type(rules).__name__}", type=type(rules).__name__
        )
    if isinstance(rules, str) and _is_path(rules):
        raise (
            unreadable(rules, "it is a folder", kind=RuleError)
            if os.path.isdir(rules)
            else missing_file(rules, RuleError)
        )
    if isinstance(rules, os.PathLike) or is_file_like(rules):
        path = Path(rules)
        return read_rules(read_file(path), format=format, table=table, source=str(path)).within(str(path.parent))
    return read_rules(rules, format=format, table=table)


def _is_path(text: str) -> bool:
    """Whether a text cannot be rules, but looks like a path that names no file."""
    return text.startswith(("/", "./", "../", "~")) and not is_file_like(text) and len(text.split()) == 1


def read_file(path: Path) -> str:
    """The text of a rule file."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            return stream.read(MAX_CHARACTERS + 1)
    except OSError as error:
        raise (
            missing_file(str(path), RuleError)
            if isinstance(error, FileNotFoundError)
            else unreadable(str(path), error.strerror or str(error), kind=RuleError)
        ) from None
    except UnicodeDecodeError:
        raise not_utf8(str(path), RuleError) from None
