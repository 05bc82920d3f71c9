"""What PySpark warns of without need: above all pandas 3, on every call that ships Arrow data, pandas or not."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator


def ignore_pandas_warning() -> None:
    """Keep the warning away, from here on, or until a surrounding `catch_warnings` ends."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Keep such warnings away within a block."""
    with warnings.catch_warnings():
        ignore_pandas_warning()
        # A Connect session tells of settings that belong to the JVM, which took them when it started.
        warnings.filterwarnings("ignore", "Failed to set spark\\.", UserWarning)
        yield
