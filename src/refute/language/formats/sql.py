"""SQL: for each rule a query that lists its violations. It is written, not read."""

from __future__ import annotations

from functools import partial

from refute.language.formats.format import Format, TableFacts, written_each
from refute.language.render import Dialect, SqlWriter
from refute.language.rulebook import Rule, RuleBook

_TITLES = {Dialect.ANSI: "SQL", Dialect.SPARK: "Spark SQL"}


def write(book: RuleBook, table: TableFacts | None = None, *, dialect: Dialect) -> str:
    """One query per rule under a comment with its name; rows are identified by the book's key, else by a number."""
    name = (table or TableFacts()).name
    writer = SqlWriter(table=name, dialect=dialect, key=book.key)

    def query_of(rule: Rule) -> str:
        said = f"{rule.name}: {rule.description or rule.text}"
        return f"-- {' '.join(said.split())}\n{writer.list_query(rule)};\n"

    return "\n".join(written_each(book, _TITLES[dialect], query_of))


def _never(text: str) -> bool:
    """No text is read as SQL."""
    return False


ANSI = Format("sql", _TITLES[Dialect.ANSI], _never, None, partial(write, dialect=Dialect.ANSI))
SPARK = Format("spark-sql", _TITLES[Dialect.SPARK], _never, None, partial(write, dialect=Dialect.SPARK))
