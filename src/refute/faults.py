"""Faults that more than one place can meet, each worded once: message and facts do not depend on who finds them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number

from refute.errors import DataError, EngineError, OptionError, RefuteError, RuleError, SchemaError, did_you_mean, ended

_MOST_NAMES = 12
_LONGEST_LINE = 300
_NOT_JSON = {  # by how Python's own messages begin
    "Expecting property name": "A name in double quotes is missing",
    "Illegal trailing comma": "Nothing follows a comma",
    "Expecting ',' delimiter": "A comma or a closing bracket is missing",
    "Expecting ':' delimiter": "A colon is missing after a name",
    "Expecting value": "A value is missing",
    "Extra data": "There is more text after the end",
    "Unterminated string": "A quote is opened here and never closed",
    "Invalid control character": "A string has a line break or another character that must be written with a \\",
    "Invalid \\": "JSON does not allow what follows a \\",
}
_LONGEST_ROW = 96  # of which Arrow shows no more


def wrong_value(option: str, expected: str, value: object, hint: str = "") -> OptionError:
    """The error for an option with a value that it does not take; `expected` follows "must be", `hint` the sentence."""
    shown = str(value) if isinstance(value, Number) else repr(value)
    return OptionError(f"{option} must be {expected}, not {shown}.{hint}", option=option, value=value)


def unknown_choice(option: str, value: object, known: Iterable[str]) -> OptionError:
    """The error for an option that takes one of a few words."""
    names = tuple(known)
    error = wrong_value(option, any_of(map(repr, names)), value, did_you_mean(str(value), names))
    error.facts["known"] = names
    return error


def several_rules(names: Sequence[str], hint: str = "Give one of them, or use check() for all.") -> RuleError:
    """The error for several rules, or none, where one is expected."""
    return RuleError(f"{not_one_rule(len(names))} ({', '.join(names)}). {hint}", rules=tuple(names), count=len(names))


def not_one_rule(count: int) -> str:
    """What to say of `count` rules where one is expected."""
    return f"Expected one rule, but this stands for {count}"


def unknown_operator(name: str, known: Iterable[str]) -> RuleError:
    """The error for an operator that the format of a rule does not have."""
    names = tuple(known)
    hint = did_you_mean(name, names) or f" Choose from {', '.join(names)}."
    return RuleError(f"Unknown operator {name!r}.{hint}", value=name, known=names)


def unknown_rule(name: str, known: Sequence[str], owner: str) -> OptionError:
    """The error for the name of a rule that a report or a monitor does not have."""
    names = tuple(known)
    own = f"Its rules are {listed(names)}." if len(names) > 1 else f"Its only rule is {listed(names)}."
    hint = did_you_mean(name, names) or f" {own}"
    return OptionError(f"The {owner} has no rule {name!r}.{hint}", rule=name, known=names)


def unknown_column(
    name: str, known: Sequence[str], *, rule: str | None = None, where: str = "", kind: str = "column"
) -> SchemaError:
    """The error for a column that the table does not have; `where` says which part of a rule names it."""
    names = tuple(known)
    hint = did_you_mean(name, names) or f" The table has {_columns(names)}."
    return SchemaError(f"There is no {kind} {name!r}{where}.{hint}", column=name, known=names, rule=rule)


def repeated_column(name: str) -> SchemaError:
    """The error for two columns of one name."""
    return SchemaError(f"The table has more than one column {name!r}. Rename one of them.", column=name)


def repeated_key_column(name: str) -> SchemaError:
    """The error for a key that lists a column twice."""
    return SchemaError(f"The key column {name!r} is listed twice. List each key column once.", column=name)


def unusable_key(name: str) -> SchemaError:
    """The error for a key column of lists, structs or the like."""
    message = (
        f"The key column {name!r} has a type that cannot be compared. A key holds text, numbers, dates or booleans."
    )
    return SchemaError(message, column=name)


def no_row_ids(purpose: str, table: str) -> DataError:
    """The error for a question about single rows of a table that has neither a key nor positions in files.

    `purpose` begins the sentence.
    """
    return DataError(
        f"{purpose} needs row ids, and {table} has none: it is not a plain file scan (nor is a Delta or Iceberg table, "
        "whose files may hold deleted rows). Name the columns that identify a row: key=[...], or --key on the command "
        "line.",
        table=table,
    )


def null_key(name: str, count: int, where: str = "") -> DataError:
    """The error for a key column without a value in some rows; `where` says which."""
    rows = "1 row" if count == 1 else f"{count:,} rows"
    message = f"The key column {name!r} is null in {rows}{where}. Key columns must not be null."
    return DataError(message, column=name, count=count)


def repeated_key(values: Mapping[str, object], count: int) -> DataError:
    """The error for a key that several rows share, by the first such value."""
    key = tuple(values)
    shared = ", ".join(f"{name} = {value!r}" for name, value in values.items())
    return DataError(
        f"The key {', '.join(key)} is not unique: {count:,} rows have {shared}. Choose columns that identify a row.",
        key=key,
        values=dict(values),
        count=count,
        quoted=tuple((name, repr(value)) for name, value in values.items()),
    )


def no_key_to_update(owner: str) -> OptionError:
    """The error for an update of rows that have numbers only."""
    return OptionError(
        f"Rows have numbers instead of keys here, so none can be updated. Give the {owner} a key.", option="key"
    )


def no_key_for_feed(owner: str) -> OptionError:
    """The error for a feed of changes of rows that have numbers only."""
    return OptionError(f"A feed of changes needs a key to identify rows. Give the {owner} one.", option="key")


def no_operations(op: str, known: Sequence[str], where: str = "The feed") -> SchemaError:
    """The error for rows of a feed that do not say what is done with them."""
    return SchemaError(
        f"{where} has no column {op!r} with its operations. Name that column with op=.{did_you_mean(op, known)}",
        column=op,
        known=tuple(known),
    )


def unlike_key(name: str, key: Sequence[str], hint: str = "") -> SchemaError:
    """The error for given keys that lack a column of the key."""
    message = f"The given keys lack the column {name!r}. The key is {', '.join(key)}.{hint}"
    return SchemaError(message, column=name, key=tuple(key))


def misfits(errors: Sequence[SchemaError]) -> SchemaError:
    """One error for all rules that do not fit a table: the only one as it is, or all of them, a line each."""
    if len(errors) == 1:
        return errors[0]
    problems = tuple({name: fact for name, fact in error.facts.items() if name != "quoted"} for error in errors)
    quoted = tuple(shown for error in errors for shown in error.quoted)
    return SchemaError("\n".join(map(str, errors)), problems=problems, quoted=quoted or None)


def missing_file(path: str, kind: type[RefuteError] = DataError) -> RefuteError:
    """The error for a path where there is nothing."""
    return kind(f"There is no file or folder {path!r}.", path=path)


def table_for_rules(path: str, *, is_folder: bool = False) -> RuleError:
    """The error for a table, or a folder, where rules are meant, with nothing of what it holds."""
    found = "folder" if is_folder else "table"
    return RuleError(f"{path!r} is a {found}, not a file of rules. Are data and rules swapped?", path=path)


def in_references(error: RefuteError, names: Sequence[str]) -> RefuteError:
    """The error for another table that cannot be opened, with the columns of a rule that refer to it."""
    facts, said = {**error.facts, "columns": tuple(names)}, str(error)
    if "quoted" in facts:  # by columns of the other table, whose names mean nothing in this one
        facts["quoted"] = quotation(*(text for _, text in error.quoted))
    if facts.get("option") in ("delimiter", "encoding"):
        advice = csv_advice(str(facts["option"]), str(facts["expected"]))
        said = said.replace(f"{advice} {AS_GIVEN}", _SAVE_IT).replace(advice, _SAVE_IT)
    said = re.sub(f",( or)? {OTHER_QUOTE}", "", said)
    return type(error)(f"References of {', '.join(names)}: {said}", **facts)


@contextmanager
def naming_rule(name: str) -> Iterator[None]:
    """Puts the rule before errors about another table, of which one book of rules may name many."""
    try:
        yield
    except RefuteError as error:
        raise type(error)(f"Rule {name!r}: {error}", **{**error.facts, "rule": name}) from error


def csv_advice(option: str, value: str) -> str:
    """How to say that CSV files are written in another way than the usual one."""
    given = "\\t" if value == "\t" else value
    flag = f"'{given}'" if option == "delimiter" else given
    return f"Pass csv={{{option!r}: {given!r}}} (--{option} {flag})."


OTHER_QUOTE = "choose another quote character, or none, with the options for CSV"
AS_GIVEN = "If the file is right, add 'as_given': True to csv= (--csv-as-given)."


_SAVE_IT = "Save it with commas and as UTF-8, or as Parquet, because csv= is about the table that is checked."


def missing_table(name: str) -> DataError:
    """The error for a name that could be a table's, where there is no such table, nor a file."""
    return DataError(f"There is no file, folder or table {name!r}.", path=name)


def unknown_without_spark(name: str) -> EngineError:
    """The error for a name that could be a catalog table's, where there is no such file, and no Spark."""
    return EngineError(
        f"There is no file or folder {name!r}. If it is a catalog table, Spark can read it: run "
        "`pip install 'refute[spark]'`.",
        path=name,
        package="pyspark",
        extra="spark",
    )


def too_large_without_spark(path: str, size: int) -> EngineError:
    """The error for files that do not fit into memory, where Spark is not installed."""
    return EngineError(
        f"{path!r} has {size / 2**30:,.1f} GB, which is too much for this process. Run `pip install 'refute[spark]'` "
        "to read it with Spark, or choose the engine 'local' to try it here.",
        path=path,
        package="pyspark",
        extra="spark",
    )


def unmatched_glob(path: str) -> DataError:
    """The error for a glob that no file matches."""
    return DataError(f"No file matches {path!r}.", path=path)


def nothing_kept(noun: str, folder: str, manifest: str, hint: str = "") -> DataError:
    """The error for a folder where no monitor, or whatever the noun says, was ever committed."""
    return DataError(f"{folder!r} does not hold a {noun}: it has no {manifest}.{hint}", path=folder)


def unreadable(
    path: str,
    reason: str,
    *,
    line: int | None = None,
    kind: type[RefuteError] = DataError,
    quoted: Sequence[str] = (),
) -> RefuteError:
    """The error for a file that is there and cannot be read; `quoted` are the parts of the reason that may be cells."""
    message = f"Cannot read {path!r}: {ended(reason)}"
    return kind(message, path=path, reason=reason, line=line, quoted=quotation(*quoted))


def quotation(*texts: str) -> tuple[tuple[None, str], ...] | None:
    """The fact `quoted` for texts of a message that may hold cells of any column."""
    return tuple((None, text) for text in texts) or None


def not_utf8(path: str, kind: type[RefuteError] = DataError) -> RefuteError:
    """The error for a file whose bytes are not text."""
    return unreadable(path, "It is not UTF-8 text.", kind=kind)


def empty_file(path: str) -> DataError:
    """The error for files without a single byte."""
    return DataError(f"{path!r} is empty.", path=path)


def empty_path() -> DataError:
    """The error for an empty text where a path or table is meant."""
    return DataError("The path is empty. Give a path, a glob or the name of a catalog table.", path="")


def without_columns(path: str) -> DataError:
    """The error for files that have rows, but no columns."""
    return DataError(f"{path!r} has no columns.", path=path)


def ragged_row(
    path: str, row: str, *, line: int | None = None, cells: int | None = None, columns: int | None = None
) -> DataError:
    """The error for a line of a CSV file with more or fewer cells than the file has columns, with numbers if known."""
    text = short(row, _LONGEST_ROW)
    if line is None:
        message = f"{path!r} has a row with too many or too few cells: {text!r}."
    else:
        found = "1 cell" if cells == 1 else f"{cells:,} cells"
        message = f"{path}:{line}: This row has {found} instead of {columns:,}: {text!r}."
    return DataError(message, path=path, text=text, line=line, count=cells, quoted=quotation(repr(text)))


def mixed_line_ends(path: str) -> DataError:
    """The error for a CSV file of which Spark would take the ends of some lines for letters."""
    return DataError(
        f"{path!r} has lines that end in LF and others that end in CR LF, or a cell that ends in CR, and Spark cannot "
        "tell them apart. End all lines in one way, or use the local engine.",
        path=path,
    )


def mixed_files(path: str, reason: str) -> DataError:
    """The error for files that cannot be read as one table."""
    return DataError(f"The files of {path!r} do not fit together: {ended(reason)}", path=path, reason=reason)


def unwritable(path: str, reason: str) -> OptionError:
    """The error for a place where nothing can be written."""
    return OptionError(f"Cannot write to {path!r}: {ended(reason)}", path=path, reason=reason)


def over_input(path: str, flag: str, what: str) -> OptionError:
    """The error for an output that would take the place of what the same command reads."""
    return unwritable(path, f"{flag} would replace {what}, which this command reads. Name another place.")


def among_input(path: str, flag: str, what: str) -> OptionError:
    """The error for an output that would be read as data the next time."""
    return unwritable(path, f"What {flag} writes there would be read with {what} from then on. Name another place.")


def same_output(path: str, flags: Sequence[str]) -> OptionError:
    """The error for two outputs of a command, of which one would replace the other."""
    return unwritable(path, f"{' and '.join(flags)} name the same place. Give each its own.")


def already_there(path: str, flag: str) -> OptionError:
    """The error for a file that people may have edited, where a new one would go."""
    return OptionError(
        f"{path} already exists. Add --force to write over it, or name another file with {flag}.",
        option=flag,
        value=path,
    )


def missing_package(purpose: str, package: str, extra: str | None = None, hint: str = "") -> EngineError:
    """The error for an optional package that is not installed; `extra` is the extra of refute that has it."""
    target = package if extra is None else f"'refute[{extra}]'"
    return EngineError(
        f"{purpose} needs the package {package}, which is not installed. Run `pip install {target}`{hint}.",
        package=package,
        extra=extra,
    )


@contextmanager
def needing(purpose: str, extra: str | None = None, hint: str = "") -> Iterator[None]:
    """An optional package that is missing meanwhile is an EngineError; `extra` is the extra of refute that has it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "refute"):
            raise
        raise missing_package(purpose, package, extra, hint) from error


def not_json(error: json.JSONDecodeError) -> str:
    """What is wrong with a text that is not JSON, and at which character of its line, in words for people."""
    words = next((said for begin, said in _NOT_JSON.items() if error.msg.startswith(begin)), "It cannot be read here")
    return f"{words} (at character {error.colno:,} of the line)."


def short(text: str, most: int = _LONGEST_LINE) -> str:
    """The text in one line, cut after `most` letters."""
    more = "..." if len(text) > most else ""
    return " ".join(text[:most].split()) + more


def listed(names: Sequence[str]) -> str:
    """The names in quotes; of many only the first."""
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + more


def any_of(words: Iterable[str]) -> str:
    """The words as a list: `a, b or c`."""
    return _in_a_row(words, "or")


def all_of(words: Iterable[str]) -> str:
    """The words as a list: `a, b and c`."""
    return _in_a_row(words, "and")


def _in_a_row(words: Iterable[str], before_last: str) -> str:
    *others, last = words
    return f"{', '.join(others)} {before_last} {last}" if others else last


def _columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"only the column {listed(names)}"
    return f"the columns {listed(names)}" if names else "no columns"
