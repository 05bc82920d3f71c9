"""Plain values as YAML text, which is read as what it was."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

_BREAKS = re.compile("[\x85\u2028\u2029]")
_ONE_LINE = re.compile("[ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_BARE = re.compile(r"(?![\d.])[\w(](?!.*(?:: |:$| #| $))")  # how such a line begins that needs no marks
_MARKED = re.compile(r"[\w(].*(?:: |:$| #)|[`'\"]")  # and one that needs them
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))  # and would not be texts then
_TIME = re.compile(r"[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?")  # nor would these, to readers of YAML 1.1
_WIDTH = 4096  # of a line; none of ours is broken
_LONGEST, _LONGEST_KEY = _WIDTH - 200, 100


class _Representer(SafeRepresenter):
    """Ruamel's own, but for texts that it writes so that they are read as others: those with line breaks of Unicode,
    and words such as `yes` and `1:30`, which readers of YAML 1.1 take for booleans and numbers."""

    def represent_str(self, data: str) -> ScalarNode:
        others = data.lower() in _WORDS or _TIME.fullmatch(data)
        style = '"' if _BREAKS.search(data) else "'" if others else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Representer.add_representer(str, _Representer.represent_str)


class _PlainYaml(YAML):
    """Ruamel's own, which does not search its folder for extensions: that takes longer than a rule takes to write."""

    def official_plug_ins(self) -> list[str]:
        return []


def _is_one_line(text: str) -> bool:
    """Whether a text has only characters that can be written as they are, and no line breaks."""
    return _ONE_LINE.fullmatch(text) is not None


def _is_bare(text: str) -> bool:
    """Whether one line is read as the text that it is, without marks; True only for the usual texts of rules."""
    return _BARE.match(text) is not None and text.lower() not in _WORDS


def yaml_text(plain: object) -> str:
    """Plain mappings and lists as YAML, one value a line, keys in their order."""
    return "".join(_by_ruamel(part) if (text := _quickly(part)) is None else text for part in _parts(plain))


def _parts(plain: object) -> Iterator[object]:
    """The items of a list, or of a mapping, each in one of its own."""
    match plain:
        case [_, _, *_]:
            yield from ([one] for one in plain)
        case {} if isinstance(plain, dict) and len(plain) > 1:
            yield from ({key: value} for key, value in plain.items())
        case _:
            yield plain


def _quickly(plain: object) -> str | None:
    """What `_by_ruamel` gives, in a hundredth of the time; None where the values are none of those that rules have."""
    try:
        return "".join(_lines(plain, ""))
    except _UnusualError:
        return None


class _UnusualError(Exception):
    """Tells that a value is one that only Ruamel writes; no user sees it."""


def _lines(plain: object, margin: str) -> Iterator[str]:
    """The lines of a mapping or a list, without the margin of the first."""
    if isinstance(plain, dict) and plain:
        before = ""
        for key, value in plain.items():
            yield f"{before}{_key(key)}:"
            if isinstance(value, dict | list):
                inner = margin if isinstance(value, list) else f"{margin}  "
                yield f"\n{inner}"
                yield from _lines(value, inner)
            else:
                yield f" {_scalar(value)}\n"
            before = margin
    elif isinstance(plain, list) and plain:
        before = ""
        for value in plain:
            yield f"{before}- "
            if isinstance(value, dict | list):
                yield from _lines(value, f"{margin}  ")
            else:
                yield f"{_scalar(value)}\n"
            before = margin
    else:
        raise _UnusualError


def _key(value: object) -> str:
    if isinstance(value, str) and len(value) <= _LONGEST_KEY:
        return _scalar(value)
    raise _UnusualError


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str) or len(value) > _LONGEST or not _is_one_line(value):
        raise _UnusualError
    if _is_bare(value):
        return value
    if not _MARKED.match(value):
        raise _UnusualError
    if "'" not in value:
        return f"'{value}'"
    if max(value) > "\ufffd":
        raise _UnusualError
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _by_ruamel(plain: object) -> str:
    yaml = _PlainYaml(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = _WIDTH
    stream = io.StringIO()
    yaml.dump(plain, stream)
    return stream.getvalue()
