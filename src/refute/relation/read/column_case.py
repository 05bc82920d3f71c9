"""Columns whose names differ by case alone: engines do not agree on whether those are one column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from refute.errors import DataError


def check_spelling(names: Mapping[str, Iterable[str]], needed: Collection[str] | None = None) -> None:
    """Raises DataError where files spell a column in two ways, given the names of the columns of each.

    Where it is said which ones are needed, one of the two must be such a one.

    Spark takes `A` of one file and `a` of another for one column, and in JSON loses the values of the second; Arrow
    takes them for two.
    """
    seen: dict[str, tuple[str, str]] = {}
    for file, columns in names.items():
        for name in columns:
            first, spelt = seen.setdefault(name.lower(), (file, name))
            if spelt != name and (needed is None or spelt in needed or name in needed):
                raise other_spelling(spelt, first, name, file)


def other_spelling(name: str, file: str, other: str, other_file: str) -> DataError:
    """The error for two spellings, by the files that have them."""
    if file == other_file:
        where = f"{file!r} has both {name!r} and {other!r}"
    else:
        where = f"{file!r} has {name!r} and {other_file!r} has {other!r}"
    return DataError(
        f"Columns differ only by case: {where}. Spell a column the same way everywhere, or rename one.",
        columns=(name, other),
        path=file,
    )
