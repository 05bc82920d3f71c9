"""The same watch with its rows in shards, whose tasks are in the process that is killed."""

from __future__ import annotations

from dataclasses import replace

from committing_watch import OPTIONS, Taking
from killing import serve
from refute.watching.shards.shard_layout import ShardTuning
from spreading import TasksHere


class TakingApart(Taking):
    """A watch whose rows are in shards."""

    options = replace(OPTIONS, driver_bytes=0, shards=ShardTuning(rows=8, least=4))
    runner = TasksHere()


if __name__ == "__main__":
    serve(TakingApart())
