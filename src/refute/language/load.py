"""Rule books from files, text and plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from refute.errors import RuleError
from refute.faults import missing_rule_file, unreadable_rules
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

    Our YAML and the formats of other tools are told apart by content, or named by `format`. Every mistake of a file is
    reported in one `RuleBookError`, each with its line. `header` names the columns of the table in their order, for
    formats that number them (Weever, Desbordante).
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
        raise unreadable_rules(rules, "it is a folder") if os.path.isdir(rules) else missing_rule_file(rules)
    if isinstance(rules, os.PathLike) or is_file_like(rules):
        path = Path(rules)
        return read_rules(read_file(path), format=format, table=table, source=str(path))
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
            missing_rule_file(str(path))
            if isinstance(error, FileNotFoundError)
            else unreadable_rules(str(path), error.strerror or str(error))
        ) from None
    except UnicodeDecodeError:
        raise unreadable_rules(str(path), "it is not UTF-8 text") from None
