"""The methods that can answer a problem, by the names that users give."""

from __future__ import annotations

from enum import Enum

from refute.faults import unknown_choice


class MethodName(Enum):
    """A method of detection.

    AUTO is `sweep`, which was measured to be the fastest, but in one case: verdicts and counts over 20,000 and
    200,000 points, in one group and in groups of 20, for none to four orders. In small groups alone, `refine` counts
    three orders and more in up to a quarter less time, and takes half as long again to verify them. So no cost chooses
    between them. The others are there for people who compare the papers, and to check each other.
    """

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
            raise unknown_choice("method", name, known)
        return cls(name)

    @property
    def chosen(self) -> MethodName:
        """The method that answers."""
        return MethodName.SWEEP if self is MethodName.AUTO else self
