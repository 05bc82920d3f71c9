"""The options of a tracker on disk: whether those given are its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from refute.api.tables import as_key
from refute.discovery.options import Options, options_of
from refute.discovery.result.kinds import RuleSort
from refute.discovery.search import kinds_of
from refute.errors import OptionError
from refute.tracking.saving.kept import Asked

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
            f"the tracker there has the key {', '.join(own_key) or 'none'}; leave key= out",
            option="key",
            value=key,
            key=own_key,
        )
    if kinds is not None and kinds_of(kinds) != own_kinds:
        told = "all kinds" if own_kinds is None else ", ".join(sorted(kind.value for kind in own_kinds))
        raise OptionError(f"the tracker there reports rules of {told}; leave kinds= out", option="kinds")
    asked = options_of(**given)
    for name in given:
        value = getattr(held.options, name)
        if name not in _FOR_NOW and getattr(asked, name) != value:
            raise OptionError(
                f"the tracker there was started with {name}={getattr(value, 'value', value)!r}; leave {name}= out",
                option=name,
                value=given[name],
                expected=value,
            )
    return replace(held.options, **{name: getattr(asked, name) for name in _FOR_NOW})
