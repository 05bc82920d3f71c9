"""Columns whose names differ by case alone: engines do not agree on whether those are one column."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from refute.errors import DataError


def check_spelling(
    names: Mapping[str, Collection[str]], needed: Collection[str] | None = None, *, by_row: bool = True
) -> None:
    """Raises DataError where files spell a column in two ways, given the names of the columns of each.

    Where it is said which ones are needed, one of the two must be such a one; and unless rows have columns of their
    own, `by_row`, one of the files must lack it, as a file that has both has two columns.

    Spark takes `A` of one file and `a` of another for one column, and in JSON loses the values of the second; Arrow
    takes them for two.
    """
    seen: dict[str, tuple[str, str]] = {}
    for file, columns in names.items():
        for name in columns:
            first, spelt = seen.setdefault(name.lower(), (file, name))
            asked = {spelt, name} if needed is None else {spelt, name}.intersection(needed)
            lacking = by_row or needed is None or not asked.issubset(columns) or not asked.issubset(names[first])
            if spelt != name and asked and lacking:
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
