"""Rule files as they are written here, read line by line in a tenth of the time that a YAML library takes.

Most rule files hold nothing but a key and a simple text in each line. Where a line is of another kind, the whole file
is left to the library: so whatever is read here means what YAML says.
"""

from __future__ import annotations

import re

from refute.language.rulebook.dumping import is_bare, is_one_line
from refute.language.rulebook.nodes import BookNode

_LINE = re.compile(r"(- |  - |    |  |)(?:([^\W\d]\w*):(?: (.+))?|(.+))")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_SHARE = re.compile(r"[0-9]+(?:\.[0-9]+)?%")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"\\]*)\"")


def read_lines(text: str) -> BookNode | None:
    """The tree of a rule file, as `read_yaml` gives it; None where a line is not one of a simple kind."""
    tree = _Tree()
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("#"):
            found = _LINE.fullmatch(line)
            if found is None or not tree.take(found, number):
                return None
    return tree.root if tree.is_whole else None


class _Tree:
    """What was read so far: each mapping is filled while its lines come."""

    def __init__(self) -> None:
        self.root: BookNode | None = None
        self._rules: list[BookNode] | None = None
        self._block: BookNode | None = None  # the rule, or the mapping at the top, that lines with a margin belong to
        self._open: tuple[BookNode, str] | None = None  # a mapping, and its last key, which has no value yet

    @property
    def is_whole(self) -> bool:
        """Whether there is something, and each key has a value."""
        return self.root is not None and self._open is None

    def take(self, found: re.Match[str], line: int) -> bool:
        """Add a line to what is there; False where it is of another kind."""
        margin, key, value, item = found.groups()
        if margin == "  - ":
            return key is None and item is not None and self._add_item(item, line)
        if key is None:
            return False
        if margin == "    ":
            inside = self._inner(line)
            return inside is not None and value is not None and _put(inside, key, value, line)
        block = self._block_of(margin, line)
        if block is None or key in block.items:
            return False
        if value is not None:
            return _put(block, key, value, line)
        self._open = block, key
        return _hold(block, key, BookNode(None, line), line)

    def _block_of(self, margin: str, line: int) -> BookNode | None:
        """The mapping that a line with this margin belongs to; None where there can be none."""
        match margin:
            case "":
                self._block = self._rules = None  # which end here
                if self.root is None:
                    self.root = _mapping(line)
                return None if self._open is not None else self.root
            case "- ":
                if self._rules is None:
                    self._rules = self._opened_rules(line)
                if self._rules is None or self._open is not None:
                    return None
                self._block = _mapping(line)
                self._rules.append(self._block)
                return self._block
            case _:
                if self._block is None and self._open is not None and self._open[1] != "rules":
                    self._block = self._filled(_mapping(line))
                return None if self._open is not None else self._block

    def _opened_rules(self, line: int) -> list[BookNode] | None:
        """The list that begins here, if it is that of the rules."""
        if self._block is not None or self._open is None or self._open[1] != "rules":
            return None
        rules: list[BookNode] = []
        self._filled(BookNode(rules, line))
        return rules

    def _filled(self, node: BookNode) -> BookNode:
        """The node, as the value of the key that had none."""
        assert self._open is not None
        (mapping, key), self._open = self._open, None
        mapping.items[key] = node
        return node

    def _inner(self, line: int) -> BookNode | None:
        """The mapping inside a rule that a line belongs to."""
        if self._block is None or self._rules is None:
            return None
        if self._open is not None:
            return self._filled(_mapping(line))
        last = next(reversed(self._block.items.values()), None)
        return last if last is not None and isinstance(last.value, dict) else None

    def _add_item(self, item: str, line: int) -> bool:
        if self._block is None or self._rules is None:
            return False
        value = _scalar(item)
        if value is None:
            return False
        if self._open is not None:
            self._filled(BookNode([], line))
        last = next(reversed(self._block.items.values()), None)
        if last is None or not isinstance(last.value, list):
            return False
        last.value.append(BookNode(value, line))
        return True


def _mapping(line: int) -> BookNode:
    return BookNode({}, line, {})


def _put(mapping: BookNode, key: str, value: str, line: int) -> bool:
    read = _scalar(value)
    return read is not None and _hold(mapping, key, BookNode(read, line), line)


def _hold(mapping: BookNode, key: str, node: BookNode, line: int) -> bool:
    """Put a node into a mapping; False where the key is there already."""
    if key in mapping.items:
        return False
    mapping.items[key] = node
    assert isinstance(mapping.key_lines, dict)
    mapping.key_lines[key] = line
    return True


def _scalar(text: str) -> str | int | None:
    """What a text stands for, if it is a plain one."""
    if not is_one_line(text):
        return None
    if is_bare(text) or _SHARE.fullmatch(text):
        return text
    if (quoted := _QUOTED.fullmatch(text)) is not None:
        return quoted[1] if quoted[2] is None else quoted[2]
    return int(text) if _NUMBER.fullmatch(text) else None
