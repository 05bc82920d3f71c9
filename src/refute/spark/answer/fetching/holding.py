"""Rows that were brought to this process: those that are asked about, and as many others as there is room for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from refute.detect.local import LocalEngine


@dataclass(slots=True, eq=False)
class _HeldRows:
    rows: LocalEngine
    identified: bool
    users: int = 0

    @property
    def nbytes(self) -> int:
        return int(self.rows.relation.arrow.nbytes)

    def has(self, names: Iterable[str], identified: bool) -> bool:
        return identified <= self.identified and set(names) <= set(self.rows.columns)


class Holding:
    """Columns of one table, some with the ids of its rows, for several threads. What would take more than `most` bytes
    together comes one after the other; what nobody asks about any more stays until there is need for its room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: list[_HeldRows] = []  # what was asked about last, last
        self._changed = threading.Condition()
        self._coming = threading.Lock()

    def known(self, names: Iterable[str], *, identified: bool) -> LocalEngine | None:
        """Rows that are here and have these columns, perhaps others too; with ids where these are asked for."""
        with self._changed:
            found = self._found(names, identified)
            return None if found is None else found.rows

    @contextmanager
    def used(
        self, names: Iterable[str], *, identified: bool, size: int, bring: Callable[[], LocalEngine | None]
    ) -> Iterator[LocalEngine | None]:
        """The same; what is not here is brought, and takes about `size` bytes. While rows are used, the same thread
        must not ask for others: it might wait for itself."""
        held = self._taken(names, identified)
        if held is None:
            with self._coming:  # nobody brings what another is about to bring
                held = self._taken(names, identified)
                if held is None:
                    self._make_room(size)
                    rows = bring()
                    held = None if rows is None else self._add(_HeldRows(rows, identified, users=1))
        try:
            yield None if held is None else held.rows
        finally:
            if held is not None:
                with self._changed:
                    held.users -= 1
                    self._changed.notify_all()

    def forget(self) -> None:
        """Hold nothing any more."""
        with self._changed:
            self._held.clear()
            self._changed.notify_all()

    def _found(self, names: Iterable[str], identified: bool) -> _HeldRows | None:
        return next((one for one in reversed(self._held) if one.has(names, identified)), None)

    def _taken(self, names: Iterable[str], identified: bool) -> _HeldRows | None:
        with self._changed:
            found = self._found(names, identified)
            if found is not None:
                found.users += 1
                self._held.append(self._held.pop(self._held.index(found)))
            return found

    def _add(self, held: _HeldRows) -> _HeldRows:
        with self._changed:
            self._held.append(held)
            return held

    def _make_room(self, size: int) -> None:
        """Let go what was not asked about for longest, and wait for what is in use."""
        with self._changed:
            while self._held and sum(one.nbytes for one in self._held) + size > self._most:
                idle = next((place for place, one in enumerate(self._held) if not one.users), None)
                if idle is None:
                    self._changed.wait()
                else:
                    del self._held[idle]
