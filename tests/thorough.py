"""How much is tried: all of it with HYPOTHESIS_PROFILE=thorough, else a part that differs from test to test."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
_TIMES = 20


def examples(number: int, **more: Any) -> settings:
    """Settings of a property test that draws so many examples, and many times as many where everything is tried."""
    return settings(max_examples=number * (_TIMES if THOROUGH else 1), **more)


def crossed(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    """All pairs of the two where everything is tried; else each of the first with one of the second, in turn."""
    if THOROUGH:
        return list(product(first, second))
    return [(one, second[i % len(second)]) for i, one in enumerate(first)]
