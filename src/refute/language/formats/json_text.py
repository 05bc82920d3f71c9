"""JSON as it is found in the wild: with a comma too many, which the tools that own these formats let pass."""

from __future__ import annotations

import json
import re
from typing import Any

from refute.language.formats.format import FormatError
from refute.language.rulebook import Problem

_SPARE_COMMA = re.compile(r"(\"(?:\\.|[^\"\\])*\")|,(?=\s*[}\]])")


def read_object(text: str, title: str) -> dict[str, Any]:
    """The object a JSON text holds."""
    try:
        data = json.loads(_tidy(text))
    except json.JSONDecodeError as error:
        raise FormatError([Problem(f"not {title}: {error.msg}", error.lineno)]) from None
    if not isinstance(data, dict):
        raise FormatError([Problem(f"not {title}: expected an object in curly brackets", 1)])
    return data


def is_json_with(text: str, key: str) -> bool:
    """Whether the text is a JSON object that holds a list under this key."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        data = json.loads(_tidy(text))
    except json.JSONDecodeError:
        return re.search(rf'"{re.escape(key)}"\s*:\s*\[', text) is not None
    return isinstance(data, dict) and isinstance(data.get(key), list)


def _tidy(text: str) -> str:
    return _SPARE_COMMA.sub(lambda match: match[1] or "", text.lstrip("\ufeff"))
