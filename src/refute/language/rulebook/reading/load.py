"""Rule books from files, text and plain data."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from refute.errors import RuleError
from refute.faults import missing_file, not_utf8, table_for_rules, unreadable
from refute.language.formats import MAX_CHARACTERS, TableFacts, read_rules
from refute.language.rulebook import RuleBook
from refute.language.rulebook.book import is_file_like, names_table
from refute.language.rulebook.reading.loader import book_from_plain


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
            f"Rules must be a file, a text or a mapping, not {type(rules).__name__}.", type=type(rules).__name__
        )
    if isinstance(rules, str) and _is_path(rules):
        raise (
            unreadable(rules, "It is a folder.", kind=RuleError)
            if os.path.isdir(rules)
            else missing_file(rules, RuleError)
        )
    if isinstance(rules, os.PathLike) or is_file_like(rules):
        if isinstance(rules, str) and names_table(rules) and format is None:  # a glob or an address, too
            raise table_for_rules(rules)
        path = Path(rules)
        text = read_file(path, format=format)
        return read_rules(text, format=format, table=table, source=str(path)).within(str(path.parent))
    return read_rules(rules, format=format, table=table)


def _is_path(text: str) -> bool:
    """Whether a text cannot be rules, but looks like a path that names no file."""
    return text.startswith(("/", "./", "../", "~")) and not is_file_like(text) and len(text.split()) == 1


def read_file(path: Path, *, format: str | None = None) -> str:
    """The text of a rule file; raises RuleError for a table, and says nothing of what that holds.

    A file whose format is given is read whatever its name.
    """
    if format is None and (names_table(path.name) or path.is_dir()):
        raise table_for_rules(str(path), is_folder=path.is_dir())
    try:
        with path.open(encoding="utf-8-sig") as stream:
            text = stream.read(MAX_CHARACTERS + 1)
    except OSError as error:
        raise (
            missing_file(str(path), RuleError)
            if isinstance(error, FileNotFoundError)
            else unreadable(str(path), error.strerror or str(error), kind=RuleError)
        ) from None
    except UnicodeDecodeError:
        raise not_utf8(str(path), RuleError) from None
    if format is None and _has_records(text):
        raise table_for_rules(str(path))
    return text


def _has_records(text: str) -> bool:
    """Whether a text is JSON as tables have it: a list, or an object in each line."""
    text = text.strip()
    if text.startswith("["):
        return re.match(r"\[\s*[{\]]", text) is not None
    first, newline, _ = text.partition("\n")
    if not (newline and text.startswith("{")):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False
