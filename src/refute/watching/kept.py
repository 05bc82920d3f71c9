"""What the folder of a watch keeps: rows in this process, or in shards, with how far the stream has come."""

from __future__ import annotations

from refute.durable.directory import Sort
from refute.durable.shelf import Entry, Shelf
from refute.live.saved import FILES, KeptState, state_of
from refute.watching.shards.kept import SHARDS, KeptShards

STREAM = "stream"  # the fact that says how far the stream has come

Kept = KeptState | KeptShards


def _restored(body: Entry, shelf: Shelf, verify: bool) -> Kept:
    if SHARDS in body:
        kept = KeptShards.restored(body, shelf.folder, [STREAM])
        shelf.learn(kept.rules, body["rules"])
        return kept
    return KeptState(state_of(body, shelf, verify), {STREAM: body[STREAM]})


WATCH: Sort[Kept] = Sort("watch", FILES, _restored)
