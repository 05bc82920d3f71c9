"""Everything that is wrong with a file of rules, gathered and reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refute.errors import RuleError


@dataclass(frozen=True, slots=True)
class RuleMistake:
    """One mistake: what is wrong, and the line it is on where the text has lines (1 is the first)."""

    message: str
    line: int | None = None

    def located(self, source: str | None) -> str:
        """The message behind `file:line:`, as editors and terminals link it; further lines are indented."""
        place = ":".join(str(part) for part in (source, self.line) if part is not None)
        text = self.message.replace("\n", "\n    ")
        if not place:
            return text
        return f"{place}: {text}" if source is not None else f"Line {place}: {text}"


class RuleBookError(RuleError):
    """A file of rules that cannot be used. `problems` holds all of its mistakes, in order of their lines."""

    def __init__(self, problems: Iterable[RuleMistake], source: str | None = None) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        self.source = source
        message = "\n".join(problem.located(source) for problem in self.problems)
        super().__init__(message, problems=self.problems, path=source)

    def __reduce__(self) -> tuple[type[RuleBookError], tuple[object, ...]]:
        return type(self), (self.problems, self.source)


class ProblemLog:
    """A list of problems that grows while a file is read, so one mistake does not hide the next."""

    def __init__(self, problems: dict[RuleMistake, None] | None = None, owner: str = "") -> None:
        self._problems: dict[RuleMistake, None] = {} if problems is None else problems
        self._owner = owner

    def within(self, owner: str) -> ProblemLog:
        """The same list for what lies inside an owner, who is named in front of each problem."""
        return ProblemLog(self._problems, f"{self._owner}{owner}: ")

    def add(self, message: str, line: int | None = None) -> None:
        """Notes one more problem; the same one is noted once."""
        self._problems.setdefault(RuleMistake(f"{self._owner}{message}", line))

    def __bool__(self) -> bool:
        return bool(self._problems)

    def raise_if_any(self, source: str | None = None) -> None:
        """Raises a `RuleBookError` with all problems noted so far; returns when there are none."""
        if self._problems:
            raise RuleBookError(self._problems, source)
