"""What a discovery searches, how and for how long: validated once, then read everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from refute.errors import OptionError, did_you_mean
from refute.faults import unknown_choice, wrong_value
from refute.language.nulls import Nulls
from refute.language.operators import Operator

Member = TypeVar("Member", bound=Enum)
DONE = "done"  # the last phase of a search, in which there is nothing left but to give what was found


class SearchMethod(Enum):
    """How evidence is gathered. All methods return the same rules."""

    AUTO = "auto"
    TILES = "tiles"
    GUIDED = "guided"
    HYDRA = "hydra"


class Measure(Enum):
    """How the error of an approximate rule is measured."""

    G1 = "g1"
    """The share of pairs of rows of which one or the other order violates it; each pair counts once."""

    G2 = "g2"
    """The share of rows that take part in a violation."""

    G3 = "g3"
    """The share of rows to blame: those that `suspects` would remove so that no violation is left."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a discovery is: its phase, distinct evidences seen, candidate rules, and rules verified on all rows."""

    phase: str
    evidences: int
    candidates: int
    verified: int

    def __str__(self) -> str:
        counts = {"evidences": self.evidences, "candidates": self.candidates, "verified": self.verified}
        counted = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
        return f"{self.phase}{': ' if counted else ''}{counted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a discovery.

    `columns`: the columns to use, None for all. `cross_columns`: whether two different columns are compared across
    rows, where at least `shared_values` of their values are shared and, for order, the ratio of their averages is above
    `average_ratio`. `one_row`: whether columns are compared within one row. `constants`: how many frequent values per
    column are compared with, each held by at least `constant_share` of the rows. `operators`: the comparisons to use.
    `max_predicates`: the longest rule. `error`: the largest error of a rule, by `measure`: found are the most general
    rules whose `error <= error`. The search for g1 is complete; for g2 and g3, which are measured rule by rule on all
    rows, it ends after 20,000 candidates, and a note says so. `almost`: also look for rules that at most so many pairs
    break, each pair counted once. `time_limit`: seconds, once the table is read, after which the rules verified
    so far are returned.
    """

    columns: tuple[str, ...] | None = None
    cross_columns: bool = True
    shared_values: float = 0.30
    average_ratio: float = 0.10
    one_row: bool = False
    constants: int = 0
    constant_share: float = 0.05
    operators: tuple[Operator, ...] = tuple(Operator)
    max_predicates: int | None = None
    error: float = 0.0
    measure: Measure = Measure.G1
    almost: int = 0
    method: SearchMethod = SearchMethod.AUTO
    nulls: Nulls = Nulls.SQL
    threads: int | None = None
    time_limit: float | None = None
    seed: int = 0
    progress: Callable[[Progress], None] | None = None

    @property
    def counts_pairs(self) -> bool:
        """Whether it matters how many pairs break a rule."""
        return bool(self.error or self.almost)

    def __post_init__(self) -> None:
        self._check_types()
        for name in ("shared_values", "average_ratio", "constant_share", "error"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise wrong_value(name, "between 0 and 1", value)
        if self.error >= 1.0:
            raise wrong_value("error", "below 1", self.error, " At 1, every rule holds.")
        for name in ("max_predicates", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise wrong_value(name, "at least 1", value)
        for name in ("constants", "almost", "seed"):
            if getattr(self, name) < 0:
                raise wrong_value(name, "at least 0", getattr(self, name))
        for name in ("constants", "almost", "max_predicates", "threads", "seed"):
            if (getattr(self, name) or 0) > _MOST:
                raise wrong_value(name, f"at most {_MOST:,}", getattr(self, name))
        for name in self.columns or ():
            if not isinstance(name, str):
                raise wrong_value("columns", "names of columns", name)
        if self.time_limit is not None and not self.time_limit > 0:
            raise wrong_value("time_limit", "above 0 seconds", self.time_limit)
        if not self.operators:
            raise OptionError("operators must name at least one comparison.", option="operators", value=())
        if self.error and self.method in (SearchMethod.GUIDED, SearchMethod.HYDRA):
            method = self.method.value
            raise OptionError(
                f"Approximate rules need counts of all pairs. Use method='tiles', not {method!r}.",
                option="method",
                value=method,
            )

    def _check_types(self) -> None:
        """Raises OptionError for a value that is not of the kind its option takes."""
        for names, kind, what in _KINDS:
            for name in names:
                value = getattr(self, name)
                missing = value is None and name in _OPTIONAL
                if not missing and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
                    raise wrong_value(name, what, value)
        if self.progress is not None and not callable(self.progress):
            raise wrong_value("progress", "a function that takes a Progress", self.progress)


_MOST = 2**31 - 1
_NUMBER: tuple[type, ...] = (int, float, np.integer, np.floating)
_KINDS: tuple[tuple[tuple[str, ...], type | tuple[type, ...], str], ...] = (
    (("shared_values", "average_ratio", "constant_share", "error", "time_limit"), _NUMBER, "a number"),
    (("constants", "max_predicates", "almost", "threads", "seed"), (int, np.integer), "a whole number"),
    (("cross_columns", "one_row"), bool, "True or False"),
)
_OPTIONAL = frozenset({"max_predicates", "threads", "time_limit"})


def several(given: object) -> tuple[Any, ...]:
    """The values that an option names; a text is one of them."""
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


def chosen(kind: type[Member], value: object, name: str) -> Member:
    """The member that `value` is or spells; raises OptionError naming the nearest."""
    if isinstance(value, kind):
        return value
    try:
        return kind(value)
    except ValueError:
        raise unknown_choice(name, value, [str(member.value) for member in kind]) from None


def options_of(**given: Any) -> Options:
    """The options, where enumerations may be named by their values; raises OptionError for unknown names and values."""
    known = [one.name for one in fields(Options)]
    for name in given:
        if name not in known:
            raise OptionError(f"There is no option {name!r}.{did_you_mean(name, known)}", option=name, known=known)
    for name, kind in (("measure", Measure), ("method", SearchMethod), ("nulls", Nulls)):
        if name in given:
            given[name] = chosen(kind, given[name], name)
    operators = given.pop("operators", None)
    if operators is not None:
        given["operators"] = tuple(chosen(Operator, op, "operators") for op in several(operators))
    if given.get("columns") is not None:
        given["columns"] = several(given["columns"])
    return Options(**given)
