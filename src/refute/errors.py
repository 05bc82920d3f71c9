"""Every error a user can meet: one root, facts by name, messages that say what to do next."""

from __future__ import annotations

import difflib
import operator
import sys
from collections.abc import Callable, Iterable
from typing import SupportsIndex

_LONGEST_LINE = 500
_MOST_LINES = 100
_OF_CELLS = ("quoted", "value", "values", "text", "reason")  # facts that may hold what a message quotes
FACTS_NOTE = "refute facts: "  # how the note begins that brings facts out of a Python worker of Spark


class RefuteError(Exception):
    """The root of all errors that Refute raises on purpose.

    The message says what is wrong and, where it can, what to do about it, in sentences that begin with a capital and
    end as sentences do. It can stand alone, or behind `refute:`, a file or a line; long messages are cut when shown.

    `facts` holds what the message is about, by name, so a program need not parse it. The names are stable:

    - `column`, `columns`, `key`: names of columns; `rule`, `rules`: names of rules; `known`: the names that exist
    - `option`, `value`: an argument or flag, and what was given for it; `most`: the largest number that is allowed
    - `table`: what messages call a table; `path`, `paths`: files or folders; `address`: where Spark is, reads or writes
    - `line`: a line of a file or rule, from 1 on; `position`: a place in a rule, from 0 on; `text`: what stands there
    - `row`, `rows`: positions of rows, from 0 on; `values`: what a row holds, by column; `count`: how many there are
    - `type`, `expected`: the type or form that was found, and the one that was expected
    - `package`, `extra`: a Python package that is missing, and the extra of refute that installs it
    - `reason`: what another program said, such as Spark, Arrow or the operating system
    - `quoted`: what the message shows of cells, in its order: for each its column, None if not known, and the text
    - `problems`: several mistakes at once: the facts of each, or for rule files a `RuleMistake` each

    Facts that are not known are left out.
    """

    def __init__(self, message: str = "", **facts: object) -> None:
        super().__init__(message)
        self.facts = {name: fact for name, fact in facts.items() if fact is not None}
        if "pyspark.worker" in sys.modules:  # of which only the text of the traceback comes back to the driver
            self.add_note(f"{FACTS_NOTE}{self.facts!r}")

    def __str__(self) -> str:
        return shortened(super().__str__())

    @property
    def quoted(self) -> tuple[tuple[str | None, str], ...]:
        """What the message shows of cells, each with its column where that is known."""
        found: tuple[tuple[str | None, str], ...] = self.facts.get("quoted", ())  # type: ignore[assignment]
        return found

    def hiding(self, hides: Callable[[str | None], bool], mark: str) -> RefuteError:
        """The same with a mark in place of what the message and the facts show of cells of some columns."""
        hidden = [hides(column) for column, _ in self.quoted]
        if not any(hidden):
            return self
        message, end = Exception.__str__(self), len(Exception.__str__(self))
        for (_, text), hide in zip(reversed(self.quoted), reversed(hidden), strict=True):
            place = message.rfind(text, 0, end)
            end = place
            if end < 0:
                message = f"{type(self).__name__}: {mark}."  # the text was cut, so who knows what is left of it
                break
            message = message[:end] + (mark if hide else text) + message[end + len(text) :]
        facts = {name: fact for name, fact in self.facts.items() if name not in _OF_CELLS}
        return type(self)(message, **facts)


class RuleError(RefuteError):
    """A rule, or a file of rules, that cannot be understood."""


class SchemaError(RefuteError):
    """A rule that does not fit the table: a column is missing, or two types cannot be compared."""


class DataError(RefuteError):
    """Data that cannot be read, or that breaks an assumption such as unique keys."""


class OptionError(RefuteError):
    """An argument or flag with a value that is not allowed."""


class EngineError(RefuteError):
    """Something that Refute depends on is missing or failed: Java, a cluster, an optional package."""


class InferredTypesWarning(UserWarning):
    """Column types were inferred from the text of the cells."""


def shortened(text: str) -> str:
    """The text with the middle of long lines, and lines beyond the first hundred, left out."""
    lines = text.split("\n", _MOST_LINES)
    if len(lines) > _MOST_LINES:
        left = lines.pop().count("\n") + 1
        lines.append(f"... and {left:,} more lines")
    return "\n".join(_shortened_line(line) for line in lines)


def _shortened_line(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    head, tail = line[: _LONGEST_LINE * 2 // 3], line[-_LONGEST_LINE // 4 :]
    return f"{head} ... ({len(line) - len(head) - len(tail):,} characters) ... {tail}"


def ended(text: str) -> str:
    """What another program said, with a full stop where it does not end as a sentence does."""
    text = text.rstrip()
    return text if text.endswith((".", "?", "!")) else f"{text}."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when none is close."""
    name = str(name)
    candidates = {str(item).casefold(): str(item) for item in known}
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(name.casefold())
    best, found = (0.6, ""), None
    for candidate in candidates:  # as difflib.get_close_matches, which measures all where the best is asked for
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= best[0] and matcher.quick_ratio() >= best[0]:
            ratio = matcher.ratio()
            if (ratio, candidate) >= best:
                best, found = (ratio, candidate), candidates[candidate]
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to follow a sentence, that names the nearest known name; empty when none is close."""
    best = nearest(name, known)
    return f" Did you mean {best!r}?" if best is not None else ""


def whole_number(name: str, value: object) -> int:
    """The value of an option that counts something; raises OptionError for anything but an integer."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise OptionError(f"{name} must be a whole number, not {value!r}.", option=name, value=value)
    return operator.index(value)
