"""What detection returns about one rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from refute.display import in_one_line
from refute.faults import needing

if TYPE_CHECKING:
    import pandas


class Witness(NamedTuple):
    """One violation by row ids; `t` is None for a rule about one row."""

    s: Any
    t: Any = None


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """Whether a rule holds, with one violation when it does not. True where the rule holds."""

    holds: bool
    witness: Witness | None = None

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        if self.witness is None:
            return f"Verdict(holds={self.holds})"
        t = "" if self.witness.t is None else f", t={in_one_line(repr(self.witness.t))}"
        return f"Verdict(holds={self.holds}, witness=(s={in_one_line(repr(self.witness.s))}{t}))"

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the violation, one per role; none where the rule holds."""
        found = [(role, row) for role, row in zip("st", self.witness or (), strict=False) if row is not None]
        with needing("to_pandas()"):
            import pandas
        return pandas.DataFrame(found, columns=["role", "row"])

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part

        rows = [(role, str(row)) for role, row in zip("st", self.witness or (), strict=False) if row is not None]
        return table_part("The rule holds" if self.holds else "The rule is broken", ("role", "row"), rows)


@dataclass(frozen=True, slots=True)
class Finding:
    """The exact extent to which a table violates a rule. Counts are None if only a verdict was computed."""

    holds: bool
    violations: int | None
    rows: int | None
    skipped_nulls: int
    witness: Witness | None
    method: str

    def __post_init__(self) -> None:
        assert self.violations is None or (self.violations == 0) == self.holds, "a rule holds if nothing violates it"
        assert self.holds == (self.witness is None), "a broken rule has a witness, a rule that holds has none"


@dataclass(frozen=True, slots=True)
class Timed:
    """A finding with the values of its witness rows and the seconds it took."""

    finding: Finding
    values: dict[str, dict[str, Any] | None] | None
    seconds: float
