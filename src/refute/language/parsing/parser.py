"""From text to rules. Text is parsed here, once; everything behind works on the objects.

Constants have the type they are written in: `5` is an integer, `1.50` a decimal (exact), `1.5e0` a double, `'x'` and
`"x"` are text (marks doubled inside), `true` and `false` booleans, `date '2020-01-31'` is a date, and
`timestamp '2020-01-31 12:00:00'` a moment, with a zone if it ends in an offset such as `+02:00`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from refute.errors import RuleError, did_you_mean
from refute.faults import any_of, not_one_rule
from refute.language.arithmetic import Formula
from refute.language.conditions import Condition
from refute.language.constraint import DenialConstraint
from refute.language.parsing.meaning import Reader
from refute.language.parsing.syntax import RuleSyntaxError, in_words
from refute.language.predicate import Constant
from refute.language.short_forms.column_rules import AllowedValues, Patterns, References
from refute.language.short_forms.sugar import Key, NotNull, RowRule, Sugar

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

_MAX_DEPTH = 200
_MAX_LENGTH = 1_000_000
_CALL = re.compile(r"\s*([^\W\d]\w*)\s*\(")
_HALF = re.compile("[\ud800-\udfff]")
_ONE_ROW = re.compile(r"(?!=>|<-)(?:[<>=!≠≤≥]|(?:in|is|between|matches|not)\b)", re.IGNORECASE)
_UNDENIED = re.compile(r"\s*(?:[({\[]\s*)*(s|t[012]?['′’]?)\s*\.", re.IGNORECASE)


class RuleKind(Enum):
    """The ways to write a rule; the values are the keys of a rule file."""

    DC = "dc"
    FD = "fd"
    UNIQUE = "unique"
    ORDER = "order"
    NO_OVERLAP = "no_overlap"
    ROW = "row"
    NOT_NULL = "not_null"
    MATCHES = "matches"
    ONE_OF = "one_of"
    REFERENCES = "references"

    @property
    def adds(self) -> bool:
        """Whether a rule of this kind says what no comparison can, by what it adds to the condition of its rows."""
        return self in (RuleKind.NOT_NULL, RuleKind.MATCHES, RuleKind.REFERENCES)


_CALLS = (RuleKind.UNIQUE, RuleKind.ORDER, RuleKind.NO_OVERLAP, RuleKind.ROW, RuleKind.NOT_NULL)


def parse(text: str, columns: Collection[str] | None = None) -> DenialConstraint:
    """The constraint that a text stands for; with `columns`, names beyond these are errors.

    The text is a denial constraint, or a short form that stands for exactly one (`unique(id)`, `zip -> city`).
    """
    if not isinstance(text, str):
        raise RuleError(f"A rule must be a text, not {type(text).__name__}.", type=type(text).__name__)
    found = parse_rule(text, columns)
    if len(found) != 1:
        raise RuleSyntaxError(
            f"{not_one_rule(len(found))}. Write it as {len(found)} rules.",
            text=text,
            position=0,
        )
    return found[0]


def parse_rule(text: str, columns: Collection[str] | None = None) -> tuple[DenialConstraint, ...]:
    """The constraints that a text stands for, be it a denial constraint or a short form."""
    found = parse_statement(text, columns)
    if isinstance(found, NotNull):
        raise RuleSyntaxError(
            "not_null cannot be written as a denial constraint. Use it as a rule.", text=text, position=0
        )
    return (found,) if isinstance(found, DenialConstraint) else found.constraints()


def parse_statement(text: str, columns: Collection[str] | None = None) -> DenialConstraint | Sugar:
    """What is written: a denial constraint, or a short form as such."""
    return Reader(text, columns).statement(_tree(text, "rule"))


def parse_kind(kind: RuleKind, text: str, columns: Collection[str] | None = None) -> DenialConstraint | Sugar:
    """The value of one key of a rule file, where `unique: "a, b"` needs no `unique(...)` around it."""
    match kind:
        case RuleKind.ROW:
            return RowRule(parse_condition(text, columns))
        case RuleKind.MATCHES:
            return Patterns.of(parse_condition(text, columns))
        case RuleKind.ONE_OF:
            return AllowedValues.of(parse_condition(text, columns))
        case RuleKind.REFERENCES:
            return References.of(text, lambda names: _names(names, columns))
    start = {RuleKind.DC: "constraint", RuleKind.NOT_NULL: "unique"}.get(kind, kind.value)
    found = Reader(text, columns).statement(_tree(text, start))
    return NotNull(found.columns) if kind is RuleKind.NOT_NULL and isinstance(found, Key) else found


def _names(text: str, columns: Collection[str] | None) -> tuple[str, ...]:
    found = Reader(text, columns).statement(_tree(text, "unique"))
    assert isinstance(found, Key)
    return found.columns


def parse_condition(text: str, columns: Collection[str] | None = None) -> Condition:
    """A condition on one row, as `where` and `row` take it."""
    return Reader(text, columns).condition(_tree(text, "condition"))


def parse_formula(text: str) -> Formula | Constant:
    """Arithmetic on the columns of one row, without a row variable."""
    return Reader(text, None).formula(_tree(text, "formula"))


@cache
def _grammar() -> Lark:
    from importlib import resources

    from lark import Lark

    return Lark(
        resources.files("refute.language.parsing").joinpath("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        start=["rule", "constraint", "fd", "unique", "order", "no_overlap", "condition", "formula"],
        maybe_placeholders=False,
    )


def _tree(text: str, start: str) -> Tree[Token]:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if len(text) > _MAX_LENGTH:
        problem = f"This has {len(text):,} characters, and a rule may have at most {_MAX_LENGTH:,}."
        raise RuleSyntaxError(problem, text=text, position=0)
    half = _HALF.search(text)
    if half is not None:
        raise RuleSyntaxError("This is half a character, which no text has.", text=text, position=half.start())
    try:
        tree = _grammar().parse(text, start=start)
    except UnexpectedToken as error:
        at_end = error.token.type == "$END"
        position = len(text.rstrip()) if at_end else int(error.pos_in_stream or 0)
        found = "the text ends here" if at_end else f"found {str(error.token)!r}"
        expected = error.accepts or error.expected
    except UnexpectedCharacters as error:
        position = int(error.pos_in_stream or 0)
        found = f"found {text[position]!r}"
        expected = _accepted_after(text[:position], start)
    else:
        _check_depth(text, tree)
        return tree
    raise _explained(text, start, position, found, in_words(expected)) from None


def _check_depth(text: str, tree: Tree[Token]) -> None:
    """Raises an error for a text that is nested deeper than any reader could follow."""
    level, depth = [tree], 0
    while level:
        level = [child for found in level for child in found.children if not isinstance(child, str)]
        depth += 1
        if depth > _MAX_DEPTH:
            raise RuleSyntaxError("This is nested too deeply.", text=text, position=0)


def _accepted_after(text: str, start: str) -> set[str]:
    """The terminals that could follow a text that is right so far."""
    state = _grammar().parse_interactive(text, start=start)
    state.exhaust_lexer()
    return set(state.accepts())  # type: ignore[no-untyped-call]


def _explained(text: str, start: str, position: int, found: str, expected: tuple[str, ...]) -> RuleSyntaxError:
    """The error in words; the mistakes that people make most get an answer of their own."""
    rest = text[position:].lower()
    if not text.strip():
        problem = "The rule is empty. Write what must not happen: not (s.zip = t.zip and s.city != t.city)."
    elif start in ("rule", "constraint") and _UNDENIED.match(text):
        position = len(text) - len(text.lstrip())
        problem = "A rule says what must not happen: put the comparisons into not (...)."
    elif start in ("rule", "constraint") and rest.startswith(("or ", "or(", "||", "∨")):
        problem = "A denial constraint has no 'or': write one rule for each alternative."
    elif rest.startswith("null") and "a constant" in expected:
        problem = "A comparison with null is never true, so null cannot be written here."
        problem += " Conditions of 'where' take 'is null'." if start != "condition" else " Write 'is null'."
    elif start == "rule" and (call := _CALL.match(text)) and call.end() == position + 1:
        known = [kind.value for kind in _CALLS]
        hint = did_you_mean(call[1], known) or f" The short forms are {any_of(f'{name}(...)' for name in known)}."
        position = call.start(1)
        problem = f"There is no short form {call[1]!r}.{hint}"
    elif start == "rule" and "'->'" in expected and _ONE_ROW.match(rest):
        problem = "A rule about the values of one row is written row(...), as in row(salary >= 0)."
    elif rest.startswith(("'", '"')) and "a column name" in expected and "a constant" not in expected:
        problem = "Quotes are for values; a name with blanks goes into back quotes, as in `zip code`."
    elif rest.startswith(".") and text[:position].rstrip()[-1:].isalnum():
        problem = "A name with a dot goes into back quotes, as in `address.zip`."
    else:
        problem = f"Expected {any_of(expected)}; {found}." if expected else f"This is not expected here: {found}."
    return RuleSyntaxError(problem, text=text, position=position, expected=expected)
