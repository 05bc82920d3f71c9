"""How many threads one rule may use."""

from __future__ import annotations

from refute.plan.share import Share


def threads_for(share: Share | None, points: int, parallel: int) -> int:
    """The threads that a rule over so many points may use; one where more would not pay."""
    return share.threads if share is not None and points >= parallel else 1
