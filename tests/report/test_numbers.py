"""How counts and shares are said."""

from __future__ import annotations

import pytest

from refute.report.numbers import percent


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0%"),
        (0.5, "50%"),
        (0.002, "0.2%"),
        (1 / 3, "33.3%"),
        (1e-5, "0.001%"),
        (1e-9, "less than 0.001%"),
        (1, "100%"),
    ],
)
def test_a_share_is_said_as_rules_write_it(share: float, said: str) -> None:
    assert percent(share) == said
