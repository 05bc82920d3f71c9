"""What a tracker is given: rows or a discovery to start with, and options, which one on disk has already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from refute.api.tables import as_key, is_monitor, is_path, is_spark
from refute.discovery import CompleteDiscovery, Discovery
from refute.discovery.options import Options, options_of
from refute.discovery.result.kinds import RuleSort, kinds_of
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.table import LocalTable
from refute.errors import OptionError
from refute.faults import needing
from refute.language.render.text import render_predicate
from refute.relation.read.files import read_local
from refute.tracking.saving.kept import Asked
from refute.tracking.ways import Ways

if TYPE_CHECKING:
    from refute.spark.tracking.table import TrackedTable

_FOR_NOW = ("threads", "progress")  # what may differ from run to run


def options_for(
    held: Asked,
    own_key: tuple[str, ...],
    key: str | Sequence[str] | None,
    kinds: Iterable[str | RuleSort] | None,
    given: dict[str, Any],
) -> Options:
    """The options of a tracker in a folder, for this run; raises OptionError for one given that is not its own."""
    own_kinds = held.kinds
    if key is not None and as_key(key) != own_key:
        raise OptionError(
            f"The tracker in this folder has the key {', '.join(own_key) or 'none'}. Leave key= out.",
            option="key",
            value=key,
            key=own_key,
        )
    if kinds is not None and kinds_of(kinds) != own_kinds:
        listed = "all kinds" if own_kinds is None else ", ".join(sorted(kind.value for kind in own_kinds))
        raise OptionError(f"The tracker in this folder reports rules of {listed}. Leave kinds= out.", option="kinds")
    asked = options_of(**given)
    for name in given:
        value = getattr(held.options, name)
        if name not in _FOR_NOW and getattr(asked, name) != value:
            raise OptionError(
                f"The tracker in this folder was started {_as_given(name, value)}. Leave {name}= out.",
                option=name,
                value=given[name],
                expected=value,
            )
    return replace(held.options, **{name: getattr(asked, name) for name in _FOR_NOW})


def _as_given(name: str, value: Any) -> str:
    """An option as it was given at the start: `with error=0.1`, `without columns=`."""
    if value is None or value is False:
        return f"without {name}="
    if isinstance(value, tuple):
        return f"with {name}={[getattr(one, 'value', one) for one in value]!r}"
    return f"with {name}={getattr(value, 'value', value)!r}"


def continued(found: Discovery, options: dict[str, Any]) -> tuple[Any, PredicateSpace, Options]:
    """The rows, predicates and options of a discovery, which a tracker goes on with."""
    if options:
        raise OptionError(f"A discovery keeps its own options. Leave {', '.join(options)} out.", option=tuple(options))
    if not isinstance(found, CompleteDiscovery):
        raise OptionError("A tracker continues what `discover` gives, and not proposals.", expected="a discovery")
    if not isinstance(found.table, LocalTable):
        raise OptionError("The rows of this discovery are on Spark. Give their DataFrame to the tracker.")
    if not found.complete:
        raise OptionError("This discovery was stopped before all rules were found. A tracker needs all of them.")
    return found.table.relation.arrow, found.space, found.options


def rows_to_track(table: Any) -> Any:
    """The rows to track, read where they are in a file."""
    if is_monitor(table):
        return table.table()
    if is_path(table):
        return read_local(table, None)
    return table


def on_spark_or_here(
    table: Any, key: tuple[str, ...], driver_bytes: int | None, ways: Ways | None
) -> tuple[TrackedTable | None, Any]:
    """A table that stays on Spark, or one whose rows are tracked in this process."""
    if not is_spark(table):
        return None, table
    with needing("Spark", "spark"):
        from refute.spark.tracking.table import TrackedTable, opened
    found = opened(table, key, driver_bytes, ways)
    return (found, None) if isinstance(found, TrackedTable) else (None, found)


def rows_to_keep(table: Any, key: tuple[str, ...], driver_bytes: int | None) -> Any:
    """The table of a tracker on disk, whose rows are in this process; raises OptionError for a larger DataFrame."""
    if not is_spark(table):
        return table
    with needing("Spark", "spark"):
        from refute.spark.tracking.table import gathered
    return gathered(table, key, driver_bytes)


def arrived(table: Any) -> Any:
    """The rows of a change, in this process."""
    if not is_spark(table):
        return table
    from refute.spark.tracking.table import fetched

    return fetched(table)


def predicates_of(space: PredicateSpace) -> list[str]:
    """The predicates of a space as they are written."""
    return [render_predicate(one) for one in space.predicates]


def stays_on_spark(why: str) -> OptionError:
    """The error of what cannot be done with rows that stay on Spark, and why."""
    return OptionError(f"The rows of this tracker stay on Spark. {why}", type="Spark")
