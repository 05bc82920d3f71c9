"""The methods of a tracker: those of a discovery, by which it starts, and IncDC's way to take rows in."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from refute.discovery.options import Options, SearchMethod, chosen
from refute.errors import OptionError
from refute.tracking.incdc.thresholds import Thresholds
from refute.tracking.ways import Ways


class TrackMethod(Enum):
    """How rules are kept current. All methods give the same rules; only INCDC differs in more than the start."""

    AUTO = "auto"
    TILES = "tiles"
    GUIDED = "guided"
    HYDRA = "hydra"
    INCDC = "incdc"


def ways_of(ways: Ways | None, options: dict[str, Any]) -> tuple[Ways | None, dict[str, Any]]:
    """The ways that a method asks for, and the options of the discovery at the start."""
    given = options.get("method")
    if given is None or isinstance(given, SearchMethod):
        return ways, options
    if chosen(TrackMethod, given, "method") is not TrackMethod.INCDC:
        return ways, options
    ways = ways or Ways()
    return replace(ways, incdc=ways.incdc or Thresholds()), {k: v for k, v in options.items() if k != "method"}


def check_incdc(options: Options) -> None:
    """Raises OptionError where rules are asked for that need counts of all pairs."""
    for name in ("error", "almost"):
        if getattr(options, name):
            raise OptionError(
                f"method='incdc' looks only at pairs that break rules, and {name}= needs all pairs. Leave method= out.",
                option="method",
                value="incdc",
            )
