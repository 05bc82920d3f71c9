"""JSON as it is found in the wild: with a comma too many, which the tools that own these formats let pass."""

from __future__ import annotations

import json
import re
from typing import Any

from refute.errors import RuleError
from refute.faults import not_json
from refute.language.formats.format import FormatError
from refute.language.predicate import MAX_DIGITS, TOO_MANY_DIGITS
from refute.language.rulebook import RuleMistake

_SPARE_COMMA = re.compile(r"(\"(?:\\.|[^\"\\])*+\"?)|,(?=\s*[}\]])")  # a text without an end is taken once, too


def read_object(text: str, title: str) -> dict[str, Any]:
    """The object a JSON text holds."""
    try:
        data = _loaded(text)
    except json.JSONDecodeError as error:
        raise FormatError([RuleMistake(f"This is not {title}: {not_json(error)}", error.lineno)]) from None
    except (RuleError, RecursionError) as error:
        reason = error if isinstance(error, RuleError) else "It is nested too deeply."
        raise FormatError([RuleMistake(f"This is not {title}: {reason}")]) from None
    if not isinstance(data, dict):
        raise FormatError([RuleMistake(f"This is not {title}: Expected an object in curly brackets.", 1)])
    return data


def is_json_with(text: str, key: str) -> bool:
    """Whether the text is a JSON object that holds a list under this key."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        data = _loaded(text)
    except (json.JSONDecodeError, RuleError, RecursionError):
        return re.search(rf'"{re.escape(key)}"\s*:\s*\[', text) is not None
    return isinstance(data, dict) and isinstance(data.get(key), list)


def _loaded(text: str) -> Any:
    return json.loads(_tidy(text), parse_int=_integer, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RuleError(f"The key {key!r} is written twice.", text=key)
        found[key] = value
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise RuleError(TOO_MANY_DIGITS, most=MAX_DIGITS)
    return int(digits)


def _tidy(text: str) -> str:
    return _SPARE_COMMA.sub(lambda match: match[1] or " ", text.lstrip("\ufeff"))
