"""What PySpark says of pandas 3 on every call that ships Arrow data, although no pandas is involved."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator


def ignore_pandas_warning() -> None:
    """Keep the warning away, from here on, or until a surrounding `catch_warnings` ends."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Keep the warning away within a block."""
    with warnings.catch_warnings():
        ignore_pandas_warning()
        yield
