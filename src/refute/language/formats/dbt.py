"""dbt: for each rule a generic test, which lists its violations in any model. It is written, not read.

The text goes into a file of a project's `tests/generic`; its first lines show how a model asks for the tests. A
severity and a limit on violations become dbt's own `severity`, `error_if` and `warn_if`.
"""

from __future__ import annotations

import re

from refute.language.formats.format import Format, TableFacts, UnwritableError, written_each
from refute.language.render import Dialect, SqlWriter
from refute.language.rulebook import Rule, RuleBook

_MODEL = "refute_model"


def write(book: RuleBook, table: TableFacts | None = None) -> str:
    """The tests, one block per rule; an error names the rules whose tolerance dbt cannot express."""
    queries = written_each(book, "dbt", lambda rule: _query(rule, book.key))
    names = _names(book)
    asked = "\n".join(f"#         - {name}" for name in names)
    head = f"{{#\n# models:\n#   - name: {(table or TableFacts()).name}\n#     data_tests:\n{asked}\n#}}\n"
    return head + "".join(f"\n{_block(*one)}" for one in zip(book, names, queries, strict=True))


def _query(rule: Rule, key: tuple[str, ...]) -> str:
    tolerance = rule.tolerance
    if tolerance.rows is not None or tolerance.suspects is not None or (tolerance and _most(rule) is None):
        raise UnwritableError(
            "dbt has limits on the number of violations only, not on rows, suspects or shares.", rule=rule.name
        )
    return SqlWriter(table=_MODEL, dialect=Dialect.ANSI, key=key).list_query(rule)


def _block(rule: Rule, name: str, query: str) -> str:
    said = " ".join((rule.description or rule.text).split())
    return (
        f"{{% test {name}(model) %}}\n"
        f"{_settings(rule)}"
        f"{{# {_commented(said)} #}}\n"
        f'WITH "{_MODEL}" AS (SELECT * FROM {{{{ model }}}})\n'
        f"SELECT * FROM (\n{_plain(query)}\n) AS violations\n"
        "{% endtest %}\n"
    )


def _settings(rule: Rule) -> str:
    most = _most(rule)
    limits = "" if most is None else f", error_if='>{most}', warn_if='>{most}'"
    return f"{{{{ config(severity='{rule.severity.value}'{limits}) }}}}\n"


def _most(rule: Rule) -> int | None:
    """The number of violations that is tolerated, if it is given as a number."""
    limit = rule.tolerance.violations
    plain = None if limit is None else limit.plain()
    return plain if isinstance(plain, int) else None


def _names(book: RuleBook) -> list[str]:
    """A name of dbt's for each rule: letters, digits and underscores, no two alike."""
    names: list[str] = []
    for rule in book:
        name = re.sub(r"\W+", "_", f"refute_{rule.name}", flags=re.ASCII).strip("_").lower()
        while name in names:
            name += "_"
        names.append(name)
    return names


def _plain(text: str) -> str:
    """Text that Jinja leaves as it is."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text)


def _commented(text: str) -> str:
    """Text that cannot end a comment of Jinja."""
    return text.replace("#}", "# }").replace("{#", "{ #")


def _never(text: str) -> bool:
    """No text is read as dbt's."""
    return False


FORMAT = Format("dbt", "dbt", _never, None, write, keeps=("severity", "tolerance", "description"))
