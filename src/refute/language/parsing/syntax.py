"""Errors in the text of a rule: where they are, shown under the text itself, and what would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from refute.errors import RuleError

_SHOWN = 100  # characters of a long line that are shown around the place
_COMPARATORS = frozenset(("EQ", "NE", "LE", "GE", "LT", "GT"))
_CONSTANTS = frozenset(("INTEGER", "DECIMAL", "FLOAT", "STRING", "TYPED", "TRUE", "FALSE"))
_NAMES = frozenset(
    ("NAME", "QUOTED", "UNIQUE", "ORDER", "NO_OVERLAP", "ROW_WORD", "NOT_NULL", "BY", "ASC", "DESC", "MATCHES")
)
_GROUPS = (
    (_COMPARATORS, "a comparison (= != < <= > >=)"),
    (_CONSTANTS, "a constant"),
    (_NAMES, "a column name"),
)
_WORDS = {
    "ROW": "a column such as s.zip",
    "AND": "'and'",
    "OR": "'or'",
    "NOT": "'not'",
    "IN": "'in'",
    "IS": "'is'",
    "NULL": "'null'",
    "BETWEEN": "'between'",
    "MATCHES": "'matches'",
    "BY": "'by'",
    "ASC": "'asc'",
    "DESC": "'desc'",
    "UNIQUE": "'unique'",
    "ORDER": "'order'",
    "NO_OVERLAP": "'no_overlap'",
    "ROW_WORD": "'row'",
    "NOT_NULL": "'not_null'",
    "ARROW": "'->'",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "$END": "the end of the rule",
}


class RuleSyntaxError(RuleError):
    """A rule's text that cannot be read, with the place and what was expected there."""

    def __init__(self, problem: str, *, text: str, position: int, expected: Iterable[str] = ()) -> None:
        self.text = text
        self.position = position
        self.expected = tuple(expected)
        before = text[:position]
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        self.problem = problem
        super().__init__(
            f"Line {self.line}, column {self.column}: {problem}\n{self.excerpt}",
            text=text,
            line=self.line,
            position=position,
            expected=self.expected,
        )

    def __reduce__(self) -> tuple[Callable[..., RuleSyntaxError], tuple[object, ...]]:
        return _rebuilt, (self.problem, self.text, self.position, self.expected)

    @property
    def excerpt(self) -> str:
        """The line of the text with a caret under the place."""
        line = self.text.split("\n")[self.line - 1].replace("\t", " ").replace("\r", " ")
        start = max(0, self.column - 1 - _SHOWN // 2)
        head = "..." if start else ""
        tail = "..." if len(line) > start + _SHOWN else ""
        shown = f"{head}{line[start : start + _SHOWN]}{tail}"
        return f"  {shown}\n  {' ' * (len(head) + self.column - 1 - start)}^"


def _rebuilt(problem: str, text: str, position: int, expected: tuple[str, ...]) -> RuleSyntaxError:
    return RuleSyntaxError(problem, text=text, position=position, expected=expected)


def in_words(terminals: Iterable[str]) -> tuple[str, ...]:
    """What a set of grammar terminals means to a reader, most telling first."""
    left = set(terminals)
    if "LPAR" in left:
        left -= {"LBRACE", "LSQB"}
    if "MINUS" in left and left & _CONSTANTS:  # where an operand begins, which brackets may be around
        left.discard("LPAR")
    words = []
    if "ROW" in left:
        words.append(_WORDS["ROW"])
        left.discard("ROW")
    if left & _CONSTANTS == {"STRING"}:
        words.append("a text in quotes")
        left.discard("STRING")
    for group, meaning in _GROUPS:
        # Words such as `by` are also names: they count as names only where any name may stand.
        if left & group and (group is not _NAMES or "NAME" in left):
            words.append(meaning)
            left -= group
    words.extend(sorted(_WORDS[terminal] for terminal in left if terminal in _WORDS))
    return tuple(words)
