"""A watch seen from outside: what its folder says as of its last commit, whether its stream runs or not."""

from __future__ import annotations

from pathlib import Path

from refute.durable.directory import last_told, looked_at
from refute.errors import DataError
from refute.language.rulebook import Rule, RuleBook
from refute.live.saved import KeptState
from refute.live.state import State
from refute.watching.assembling import assembled
from refute.watching.kept import WATCH
from refute.watching.places import WatchPlaces


class WatchView:
    """The rows and violations of a watch on disk; what is read is kept until a commit makes it old."""

    def __init__(self, folder: Path) -> None:
        self.places = WatchPlaces(folder)
        self._seen: tuple[int, State] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many violations of each rule are open, without a look at rows."""
        _, facts, _, _ = last_told(self.places.state, WATCH)
        return {name: int(count) for name, count in facts["counts"].items()}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        body, _, _, _ = last_told(self.places.state, WATCH)
        return tuple(RuleBook.of(self.places.state / body["rules"]["file"]))

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        body, _, _, _ = last_told(self.places.state, WATCH)
        return tuple(body["key"])

    @property
    def state(self) -> State:
        """Rows and violations as of the last commit."""
        _, _, commits, _ = last_told(self.places.state, WATCH)
        if self._seen is None or self._seen[0] != commits:
            try:
                self._seen = commits, self._read()
            except DataError:
                if last_told(self.places.state, WATCH)[2] == commits:
                    raise
                return self.state  # files have been removed meanwhile, as batches came
        return self._seen[1]

    def _read(self) -> State:
        kept = looked_at(self.places.state, WATCH)
        return kept.state if isinstance(kept, KeptState) else assembled(kept, self.places)
