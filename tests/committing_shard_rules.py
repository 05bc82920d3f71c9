"""The same watch, whose rules change, with its rows in shards."""

from __future__ import annotations

from committing_rules import Changing
from committing_shards import TakingApart
from killing import serve


class ChangingApart(Changing, TakingApart):
    """A watch whose rows are in shards, and whose rules change."""


if __name__ == "__main__":
    serve(ChangingApart())
