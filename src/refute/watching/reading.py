"""A watch seen from outside: what its folder says as of its last commit, whether its stream runs or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from refute.durable.directory import last_told, looked_at
from refute.errors import DataError
from refute.language.rulebook import Rule, RuleBook
from refute.live.engine import LiveEngine
from refute.live.saved import KeptState
from refute.live.state import State
from refute.watching.kept import WATCH
from refute.watching.places import WatchPlaces
from refute.watching.shards.assembling import assembled, clashing
from refute.watching.shards.kept import SHARDS, KeptShards

Answer = TypeVar("Answer")


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
        return self._at_last(self._state)

    def listing(self, rule: Rule, limit: int | None) -> LiveEngine:
        """An engine that lists the violations of a rule, at most `limit` of them, as of the last commit.

        Where rows are in shards, only those come to this process that are in them, unless all have before.
        """

        def engine(commits: int) -> LiveEngine:
            is_seen = self._seen is not None and self._seen[0] == commits
            if not is_seen and SHARDS in last_told(self.places.state, WATCH)[0]:
                kept = looked_at(self.places.state, WATCH)
                if isinstance(kept, KeptShards):
                    return LiveEngine(clashing(kept, self.places, rule, limit))
            return LiveEngine.of(self.state)

        return self._at_last(engine)

    def _state(self, commits: int) -> State:
        if self._seen is None or self._seen[0] != commits:
            kept = looked_at(self.places.state, WATCH)
            self._seen = commits, kept.state if isinstance(kept, KeptState) else assembled(kept, self.places)
        return self._seen[1]

    def _at_last(self, read: Callable[[int], Answer]) -> Answer:
        """What is read as of the last commit, again if files have been removed meanwhile, as batches came."""
        while True:
            _, _, commits, _ = last_told(self.places.state, WATCH)
            try:
                return read(commits)
            except DataError:
                if last_told(self.places.state, WATCH)[2] == commits:
                    raise
