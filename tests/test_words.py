"""What messages say, and what they carry: facts by stable names, and sentences."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import refute
from refute.errors import RefuteError

ROOT = Path(refute.__file__).parent
TREES = {
    file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(ROOT.rglob("*.py"))
}

# What a sentence may begin with instead of a capital: what a user wrote, a flag, an argument, or a name with its case.
OWN_TOKENS = re.compile(
    r"""['"`{(]|--\w|\w+=|\w+\(\)|(keyColumns|dbt|not_null|blame|budget|memory|operators|threads)\b"""
)
# A sentence ends, or a hint follows that ends one, or what another program said, or the rule's text with a mark below.
ENDS = re.compile(r"""[.?!]$|\.\{\}$|[.?!]["'`]$|\n\{\}$""")
# Calls that give the end of a sentence, or whole ones.
SAYING = ("ended", "did_you_mean", "csv_advice", "remedy", "not_json", "explained")
WHOLE = {  # names of what is a whole sentence, or several, wherever a message ends with it
    "AS_GIVEN",
    "error",
    "hint",
    "reason",
    "remedy",
    "said",
    "why",
    "there",
    "found",
    "problem",
    "READABLE",
    "HINT",
    "ONE_A_LINE",
    "_LIKE",
    "_FORMS",
    "_CASTS",
    "what",
    "way_out",
}

# Classes that make their facts out of other arguments.
OWN_FACTS = {"RuleBookError", "FormatError", "RuleSyntaxError"}

# Messages that speak of nothing that varies, by the words they begin with.
WITHOUT_FACTS = {
    "The monitor has no rows yet",
    "The rows of this discovery are on Spark",
    "This discovery was stopped before all rules were found",
    "The saved encoding is damaged",
    "The saved encoding is incomplete",
    "A number is out of range",
    "Strings of the table share hash values",
    "The Spark jobs were cancelled",
    "The text is empty",
    "The list is empty",
    "There are no rules",
    "It sets no limit",
    "It has no predicate",
    "It has a `where`",
    "It has a predicate about one row",
    "A column has no name",
    "A name or constant has a line break",
    "Expected a list of predicates",
    "Expected an object with type and value",
}

NAMES = {  # that the docstring of RefuteError promises
    name
    for line in (RefuteError.__doc__ or "").splitlines()
    for name in re.findall(r"`(\w+)`", line)
    if name not in ("facts", "refute", "RuleMistake")
}


# Turns of phrase that a native reader stumbles over, and what to say instead.
STILTED = {
    r"(?<![Tt]here) is no (?!longer)": "is not a",
    r"\btold\b|\btells\b": "inferred, shown, says",
    r"\b(is|are) there already\b": "already exists",
    r"\basked for\b|\basked of\b": "given, needed",
    r"\bpass(es|ed|ing)? over\b": "scan, skip",
    r"\btake(n|s)? off\b": "subtract",
    r"\blest\b|\banew\b|\bof its own\b": "so ... does not, again, its own",
    r"\bof this machine\b": "on this machine",
}


def error_names() -> set[str]:
    """Our classes of errors, by name."""
    names = {"RefuteError"}
    for _ in range(3):  # as deep as the tree is
        for tree in TREES.values():
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") in names for base in node.bases):
                    names.add(node.name)
    return names


ERRORS = error_names()


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Every place that makes one of our errors."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                yield f"{name}:{node.lineno}", node


def text_of(node: ast.AST) -> str:
    """The letters of a message, with {} for what varies."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return "{}"


def shown_texts() -> Iterator[tuple[str, str]]:
    """Every text of three words or more that is not a docstring: messages, help, plans."""
    for name, tree in TREES.items():
        if name.startswith("kernels/"):
            continue
        hidden = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        hidden |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if id(node) not in hidden and isinstance(node, ast.Constant | ast.JoinedStr):
                text = text_of(node)
                if len(text.split()) >= 3:
                    yield f"{name}:{node.lineno}", text


CALLS = list(raised())


def test_every_error_carries_its_facts() -> None:
    bare = {}
    for place, call in CALLS:
        if call.keywords or getattr(call.func, "id", "") in OWN_FACTS:
            continue
        text = text_of(call.args[0]) if call.args else ""
        if not any(text.startswith(words) for words in WITHOUT_FACTS):
            bare[place] = text
    assert not bare


def test_exceptions_from_that_are_needed() -> None:
    texts = [text_of(call.args[0]) for _, call in CALLS if call.args and not call.keywords]
    assert not {words for words in WITHOUT_FACTS if not any(text.startswith(words) for text in texts)}


def test_facts_have_the_names_that_the_documentation_promises() -> None:
    names = {
        keyword.arg: place
        for place, call in CALLS
        if getattr(call.func, "id", "") not in OWN_FACTS
        for keyword in call.keywords
    }
    assert not {name: place for name, place in names.items() if name not in NAMES}


def _is_whole(node: ast.expr) -> bool:
    """Whether what is filled in ends as a sentence does, by its name or the call that gives it."""
    match node:
        case ast.IfExp():
            return _is_whole(node.body) or _is_whole(node.orelse)
        case ast.BoolOp():
            return all(map(_is_whole, node.values))
        case ast.Call(func=ast.Name(name)):
            return name in SAYING
        case ast.Attribute(attr=name) | ast.Name(name):
            return name in WHOLE
    return False


def faults_of(node: ast.expr) -> Iterator[str]:
    """What keeps a message from being sentences; nothing is known of one that is made elsewhere."""
    match node:
        case ast.IfExp():
            yield from faults_of(node.body)
            yield from faults_of(node.orelse)
            return
        case ast.BinOp(left=left, op=ast.Add()):
            yield from (fault for fault in faults_of(left) if "begins" in fault)
            return
        case ast.Constant(value=str()) | ast.JoinedStr():
            text = text_of(node).lstrip()
        case _:
            return
    if not text or len(text.replace("{}", " ").split()) < 2:
        return
    if not (text[0].isupper() or OWN_TOKENS.match(text)):
        yield f"{text!r} begins in lower case"
    if re.match(r"((--[\w-]+ )?\{\}|\{\}:\{\}|--[\w-]+ \{\}:\{\}): [a-z]", text):
        yield f"{text!r} goes on in lower case behind a place"
    last = node.values[-1] if isinstance(node, ast.JoinedStr) else None
    whole = isinstance(last, ast.FormattedValue) and _is_whole(last.value)
    if not (ENDS.search(text) or whole):
        yield f"{text!r} does not end as a sentence does"
    if re.search(r"[.?!;] (?=(give|use|leave|choose|name|cast|rename|write|run|set|put|pass|drop|insert)\b)", text):
        yield f"{text!r} says what to do in a clause, not in a sentence"


def messages() -> Iterator[tuple[str, ast.expr]]:
    """Errors, warnings, mistakes in rule files and what finds them, reasons, and notes, with their places."""
    makers = ERRORS | {"RuleMistake", "UsageError", "BadParameter", "ClickException", "warn", "kind", "ValueError"}
    seconds = {"unreadable", "unwritable", "mixed_files", "_fail", "fail"}
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if called in makers and node.args:
                    yield f"{name}:{node.lineno}", node.args[0]
                if called in seconds and len(node.args) > 1:
                    yield f"{name}:{node.lineno}", node.args[1]
                if called in ("add", "append") and node.args and "log" in ast.unparse(node.func).lower():
                    yield f"{name}:{node.lineno}", node.args[0]
                if called in ("append", "extend") and "notes" in ast.unparse(node.func):
                    yield from ((f"{name}:{one.lineno}", one) for one in _listed(node.args[0]))
                yield from (
                    (f"{name}:{node.lineno}", one)
                    for keyword in node.keywords
                    if keyword.arg == "notes"
                    for one in _listed(keyword.value)
                )
            if isinstance(node, ast.Assign | ast.AugAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if getattr(target, "id", getattr(target, "attr", "")) in ("note", "notes", "problem", "message"):
                    yield from ((f"{name}:{one.lineno}", one) for one in _listed(node.value))


def _listed(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.List() | ast.Tuple():
            yield from node.elts
        case ast.ListComp() | ast.GeneratorExp():
            yield node.elt
        case ast.Call(func=ast.Name("tuple" | "list"), args=[inner]):
            yield from _listed(inner)
        case _:
            yield node


def helps() -> Iterator[tuple[str, str]]:
    """What the command says of its options, and rule files of their keys."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                if getattr(node.func, "attr", "") == "option" or name.startswith("cli/"):
                    yield from (
                        (f"{name}:{node.lineno}", text_of(one.value)) for one in node.keywords if one.arg == "help"
                    )
                if getattr(node.func, "id", "") == "Field" and len(node.args) > 1:
                    yield f"{name}:{node.lineno}", text_of(node.args[1])


def test_messages_and_notes_are_sentences() -> None:
    found = list(messages())
    assert len(found) > 500
    assert not {place: fault for place, node in found for fault in faults_of(node)}


def test_help_texts_are_sentences() -> None:
    found = [(place, text) for place, text in helps() if text != "{}"]
    assert len(found) > 80
    assert not {place: text for place, text in found if not text[0].isupper() or not text.endswith(".")}


def test_no_text_has_a_stilted_turn_of_phrase() -> None:
    found = {
        place: f"{text!r}: rather {better}"
        for place, text in shown_texts()
        for phrase, better in STILTED.items()
        if re.search(phrase, text)
    }
    assert not found


def test_no_docstring_or_comment_says_that_something_is_told() -> None:
    places = []
    for file in sorted(ROOT.rglob("*.py")):
        if "told" not in file.read_text(encoding="utf-8"):
            continue
        with tokenize.open(file) as stream:
            for token in tokenize.generate_tokens(stream.readline):
                if token.type in (tokenize.COMMENT, tokenize.STRING) and re.search(r"\btold\b", token.string):
                    places.append(f"{file.relative_to(ROOT)}:{token.start[0]}")
    assert not places
