"""What PySpark warns of without need: above all pandas 3, on every call that ships Arrow data, pandas or not."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

# Written unlike anybody else would, so taking a filter away never takes one that a user has set.
_UNNEEDED: tuple[tuple[str, type[Warning]], ...] = (
    (r"(?:)PySpark does not yet fully support pandas", FutureWarning),
    # A Connect session warns of settings that belong to the JVM, which took them when it started.
    (r"(?:)Failed to set spark\.", UserWarning),
)


class _Quiet:
    """Filters of warnings that stand as long as anybody wants them, in whichever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0

    def enter(self) -> None:
        with self._lock:
            self._wanted += 1
            for message, category in _UNNEEDED:  # again each time: pytest and others exchange the list of filters
                warnings.filterwarnings("ignore", message, category)

    def leave(self) -> None:
        with self._lock:
            self._wanted -= 1
            if self._wanted:
                return
            filters = warnings.filters
            assert isinstance(filters, list)
            messages = {message for message, _ in _UNNEEDED}
            filters[:] = [one for one in filters if getattr(one[1], "pattern", None) not in messages]


_quiet = _Quiet()


def ignore_pandas_warning() -> None:
    """Keep the warning away, from here on, or until a surrounding `catch_warnings` ends."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Keep such warnings away within a block. Blocks of several threads may overlap, which `catch_warnings` forbids."""
    _quiet.enter()
    try:
        yield
    finally:
        _quiet.leave()
