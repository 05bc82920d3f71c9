"""The methods that can answer a problem, by the names that users give."""

from __future__ import annotations

from enum import Enum

from refute.errors import OptionError, did_you_mean


class MethodName(Enum):
    """A method of detection; AUTO leaves the choice to the planner."""

    AUTO = "auto"
    SWEEP = "sweep"
    RANGE_SEARCH = "range_search"
    REFINE = "refine"

    @classmethod
    def of(cls, name: str | MethodName) -> MethodName:
        """The method of that name; raises OptionError with the nearest known one."""
        if isinstance(name, MethodName):
            return name
        known = [method.value for method in cls]
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise OptionError(f"Unknown method {name!r}; known are {', '.join(known)}.{hint}")
        return cls(name)
