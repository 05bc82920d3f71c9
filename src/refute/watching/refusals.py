"""What a watch does not begin with: a folder, a key or a checkpoint that are not its own."""

from __future__ import annotations

import os

from refute.errors import DataError, OptionError
from refute.watching.kept import STREAM, Kept
from refute.watching.places import WatchPlaces


def refuse_others(places: WatchPlaces, kept: Kept, given: tuple[str, ...] | None, op: str | None) -> None:
    """Raises an error where the key is another, or where the stream of the checkpoint is not the one of the state.

    Rows that said what they do to others are not new ones from some batch on, either.
    """
    key, facts = kept.key, kept.told[STREAM]
    query, plan = facts["query"], facts.get("plan")
    if given is not None and given != key:
        has = f"has the key {', '.join(key)}" if key else "has no key"
        raise OptionError(f"The watch in {places.folder} {has}. Leave key= out.", option="key", value=given, key=key)
    if op is None and facts.get("op") is not None:
        raise OptionError(
            f"The watch in {places.folder} has taken changes whose column {facts['op']!r} says what each does. Give "
            f"op={facts['op']!r}.",
            option="op",
            column=facts["op"],
        )
    if query is not None and places.query() != query:
        raise foreign(places, query, places.query())
    batch, done = facts["batch"], places.batches_done()
    if done > (-1 if batch is None else batch):
        raise other_moment(places, done, batch, "has been taken by Spark")
    if plan is not None and places.plan(facts["batch"]) != plan:
        raise DataError(
            f"The checkpoint in {places.checkpoint} does not have batch {facts['batch']:,} as {places.folder} took it: "
            "they are from different moments. Restore both from the same copy, or start in a new folder.",
            path=str(places.checkpoint),
            count=facts["batch"],
        )


def other_moment(places: WatchPlaces, batch: int, last: int | None, what: str = "of the stream has come") -> DataError:
    """The error for a batch that is not the one after the last one."""
    before = "no batch" if last is None or last < 0 else f"batch {last:,}"
    return DataError(
        f"Batch {batch:,} {what}, but {places.folder} stopped after {before}: state and checkpoint are from different "
        "moments. Restore both from the same copy, or start in a new folder.",
        path=str(places.folder),
        count=batch,
    )


def refuse_remains(places: WatchPlaces) -> None:
    """Raises DataError for a folder that a watch cannot begin in: one with other files, or with half of a watch."""
    names = sorted(os.listdir(places.folder)) if places.folder.is_dir() else []
    if places.checkpoint.name in names:
        raise DataError(
            f"{places.checkpoint} exists, but {places.state} is gone: the rows that the stream has brought so far "
            "are lost. Restore the state, or start in a new folder.",
            path=str(places.state),
        )
    for name in names:
        if name != places.state.name:
            raise DataError(
                f"{places.folder} is not empty and does not hold a watch: it contains {name!r}.",
                path=str(places.folder / name),
            )


def foreign(places: WatchPlaces, known: str, found: str | None) -> DataError:
    """The error for a checkpoint that is not the one of the state."""
    what = "is gone" if found is None else "is that of another stream"
    return DataError(
        f"The checkpoint in {places.checkpoint} {what}, so it is not known which rows of the stream the state in "
        f"{places.folder} already has. Restore the checkpoint, or start in a new folder.",
        path=str(places.checkpoint),
        value=found,
        expected=known,
    )
