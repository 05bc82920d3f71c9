"""The options of a monitor: what they may be, and whether those given are the ones of a monitor on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.api.tables import as_key
from refute.errors import OptionError, whole_number
from refute.faults import unknown_choice, wrong_value
from refute.language.nulls import Nulls
from refute.language.rulebook import RuleBook
from refute.live.state import State

METHODS = ("auto", "runs", "lt_tree")
STORES = ("auto", "pairs", "counts")
MOST_PAIRS = 10_000_000  # of a rule that are kept with `store="auto"`: 80 MB


def one_of(what: str, value: str, known: Sequence[str]) -> None:
    """Raises OptionError where the value of an option is not one of a few words."""
    if value not in known:
        raise unknown_choice(what, value, known)


def bound_of(store: str, most_pairs: int) -> int:
    """How many pairs of a rule are kept."""
    one_of("store", store, STORES)
    most = whole_number("most_pairs", most_pairs)
    if most < 1:
        raise wrong_value("most_pairs", "at least 1", most_pairs)
    return {"auto": most, "pairs": 1 << 62, "counts": 0}[store]


def check_same(
    state: State,
    rules: Any,
    key: str | Sequence[str] | None,
    nulls: str | Nulls | None,
    method: str | None,
    store: str | None,
    most_pairs: int | None,
) -> None:
    """Raises OptionError where something is given that the monitor in the folder does not have."""
    if key is not None and as_key(key) != state.key:
        raise OptionError(
            f"The monitor in this folder has the key {', '.join(state.key) or 'none'}. Leave key= out.",
            option="key",
            value=key,
            key=state.key,
        )
    if method is not None:
        one_of("method", method, METHODS)
        if method != state.method:
            raise OptionError(
                f"The monitor in this folder has the method {state.method}. Leave method= out.",
                option="method",
                value=method,
                expected=state.method,
            )
    if store is not None or most_pairs is not None:
        bound = bound_of(store or "auto", MOST_PAIRS if most_pairs is None else most_pairs)
        if bound != state.most:
            raise OptionError(
                "The monitor in this folder keeps another number of pairs. Leave store= and most_pairs= out.",
                option="store",
                value=store,
            )
    known = {rule.terms: rule.name for rule in state.rules}
    if rules is not None:
        book = RuleBook.of(rules)
        book = book if nulls is None else book.with_nulls(Nulls.of(nulls))
        asked = {rule.terms: rule.name for rule in book}
        for said in asked.keys() ^ known.keys():
            name = (asked | known)[said]
            conflict = f"has no rule {name!r}" if said in asked else f"also has a rule {name!r}"
            if name in asked.values() and name in known.values():
                conflict = f"has a rule {name!r} with other predicates or options"
            raise OptionError(
                f"The monitor in this folder {conflict}. Leave rules out, then use add() and drop().",
                option="rules",
                known=tuple(rule.name for rule in state.rules),
            )
    elif nulls is not None and any(rule.nulls is not Nulls.of(nulls) for rule in state.rules):
        raise OptionError(
            "The rules of the monitor in this folder treat nulls differently. Leave nulls= out.",
            option="nulls",
            value=nulls,
        )
