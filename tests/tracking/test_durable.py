"""A tracker on disk: one writer, whole batches, and no loss where the disk, the files or the input are bad."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refute as rf
from refute.durable.files import VERSION
from refute.errors import DataError, EngineError, OptionError, RefuteError, SchemaError
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways
from tracking.committing_tracker import begun, carry_out, check_whole, table_of

KINDS = ("manifest", "rows", "alive", "values", "codes", "points", "log")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tracker with files of every kind, and a log of several commits."""
    folder = tmp_path_factory.mktemp("kept") / "tracker"
    with begun(folder, log_rows=1000) as tracker:
        for batch in (2, 3, 4, 5, 6):  # the fourth one chooses predicates anew, so all is written
            carry_out(tracker, batch)
            tracker.commit()
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(kept, tmp_path / "tracker"))


def a_file(folder: Path, kind: str) -> Path:
    """The largest file of a kind."""
    return max(folder.glob(f"{kind}*"), key=lambda path: (path.stat().st_size, path.name))


def assert_refused(folder: Path, file: Path) -> None:
    for _ in range(2):  # and the folder has been let go
        with pytest.raises(DataError) as refused:
            rf.Tracker.open(folder)
        assert file.name in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_damaged_cut_short_foreign_or_missing_is_refused_by_its_name(folder: Path, kind: str) -> None:
    file = a_file(folder, kind)
    held = file.read_bytes()
    for place in sorted({0, 9, len(held) // 3, len(held) // 2, len(held) - 1}):
        file.write_bytes(held[:place] + bytes([held[place] ^ 1]) + held[place + 1 :])
        assert_refused(folder, file)
    for other in (b"", held[: len(held) // 2] if kind != "log" else b"FRAM", a_file(folder, "alive").read_bytes()[:-1]):
        file.write_bytes(other)
        assert_refused(folder, file)
    file.unlink()
    if kind != "manifest":
        assert_refused(folder, file)
    file.write_bytes(held)
    assert check_whole(folder, 6) == 6


def test_a_tracker_whose_manifest_is_missing_is_not_begun_anew(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    before = sorted(folder.iterdir())
    with pytest.raises(DataError, match=r"manifest\.json"):
        begun(folder)
    assert sorted(folder.iterdir()) == before


def test_folders_of_monitors_and_of_later_versions_are_refused(folder: Path, tmp_path: Path) -> None:
    rf.Monitor.open(tmp_path / "monitor", "zip -> city", key="id").close()
    with pytest.raises(DataError, match=r"holds a monitor, not a tracker. Open it with refute\.Monitor\.open"):
        rf.Tracker.open(tmp_path / "monitor")
    with pytest.raises(DataError, match=r"holds a tracker, not a monitor. Open it with refute\.Tracker\.open"):
        rf.Monitor.open(folder, "zip -> city")
    with pytest.raises(DataError, match=r"does not hold a tracker: it has no manifest\.json. Give a table"):
        rf.Tracker.open(tmp_path / "nothing")
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"refute": {VERSION}', f'"refute": {VERSION + 1}'))
    with pytest.raises(DataError, match=f"has format {VERSION + 1}, and this version of Refute reads"):
        rf.Tracker.open(folder)


def test_a_second_writer_is_refused_and_a_closed_tracker_does_not_change(folder: Path) -> None:
    tracker = rf.Tracker.open(folder)
    with pytest.raises(EngineError, match=r"The tracker in .* is already open"):
        rf.Tracker.open(folder)
    tracker.close()
    for change in (tracker.refit, tracker.commit, lambda: tracker.delete([0]), lambda: tracker.become(table_of([]))):
        with pytest.raises(OptionError, match=r"The tracker is closed\. Open it again"):
            change()
    assert tracker.held == rf.Tracker.open(folder).held
    with pytest.raises(OptionError, match=r"This tracker is in memory only. Use Tracker\.open\(folder, table"):
        begun(None).commit()


def test_what_was_not_committed_is_gone_and_an_error_commits_nothing(folder: Path) -> None:
    tracker = rf.Tracker.open(folder)
    carry_out(tracker, 7)
    tracker.close()
    assert check_whole(folder, 6) == 6
    with pytest.raises(DataError), rf.Tracker.open(folder) as tracker:
        _changed_and_refused(tracker)
    assert check_whole(folder, 6) == 6


def _changed_and_refused(tracker: rf.Tracker) -> None:
    carry_out(tracker, 7)
    tracker.delete([10**6])


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_fails_the_commit_and_keeps_what_was_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tracker = rf.Tracker.open(folder)
    carry_out(tracker, 7)
    if call == "replace":
        tracker.refit()  # which has all written
    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        for _ in range(2):
            with pytest.raises(EngineError, match="No space left"):
                tracker.commit()
    assert check_whole(Path(shutil.copytree(folder, tmp_path / "copy")), 6) == 6
    tracker.commit()
    tracker.close()
    again = rf.Tracker.open(folder)
    assert (again.held, again.batches, again.table()) == (tracker.held, tracker.batches, tracker.table())
    again.close()


def test_bad_input_changes_nothing_on_disk_either(folder: Path) -> None:
    with rf.Tracker.open(folder) as tracker:
        rows = tracker.table()
        for bad, error in (
            (pa.concat_tables([rows, rows.slice(0, 1)]), DataError),
            (rows.set_column(0, "id", pa.nulls(len(rows), pa.int64())), DataError),
            (rows.drop_columns(["city"]), SchemaError),
            (rows.append_column("more", rows.column("id")), SchemaError),
            (rows.set_column(1, "zip", rows.column("city")), SchemaError),
        ):
            with pytest.raises(error):
                tracker.become(bad)
    assert check_whole(folder, 6) == 6


def test_options_that_an_opened_tracker_does_not_have_are_refused(folder: Path) -> None:
    for given, told in (
        ({"key": "zip"}, "has the key id. Leave key= out"),
        ({"kinds": "key"}, "reports rules of all kinds. Leave kinds= out"),
        ({"error": 0.1}, r"was started with error=0\.0. Leave error= out"),
        ({"columns": ["zip"]}, "Leave columns= out"),
        ({"nulls": "equal"}, "was started with nulls='sql'"),
        ({"log_rows": -1}, "log_rows"),
    ):
        with pytest.raises(RefuteError, match=told):
            rf.Tracker.open(folder, **given)
    rf.Tracker.open(folder, key="id", columns=["zip", "city", "pay", "tax"], error=0.0, threads=2).close()


def test_identifiers_of_values_are_the_same_in_every_run_and_never_given_again(tmp_path: Path) -> None:
    """Also those of values whose rows were gone again before a state was written."""
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    folder = tmp_path / "tracker"
    with rf.Tracker.open(folder, rows, key="id", columns=["name"], operators=["=", "!="]) as tracker:
        tracker.insert([{"id": 4, "name": "d"}])
        tracker.delete([4, 2])
    with rf.Tracker.open(folder) as tracker:
        tracker.insert([{"id": 5, "name": "e"}])
    with rf.Tracker.open(folder) as tracker:
        tracker.insert(pa.table({"id": range(100, 5100), "name": ["a"] * 5000}))  # so many that all is searched anew
        tracker.insert([{"id": 6, "name": "d"}, {"id": 7, "name": "b"}])
        tracking = tracker._ready()
        assert isinstance(tracking, Tracking)
        (encoding,) = tracking.rows.encodings.values()
    assert encoding.codes(pa.array(["a", "b", "c", "d", "e"])).values.tolist() == [0, 1, 2, 3, 4]


def test_the_work_of_the_start_and_how_much_moved_since_are_known_when_opened(tmp_path: Path) -> None:
    """So that a cover is chosen anew also where a tracker is opened for every batch."""
    n = 60
    rows = pa.table({"id": range(n), "zip": [i % 12 for i in range(n)], "city": [i % 12 // 2 for i in range(n)]})
    ways = Ways(counted=False)
    with rf.Tracker.open(tmp_path / "tracker", rows, key="id", columns=["zip", "city"], ways=ways) as tracker:
        tracking = tracker._ready()
        assert isinstance(tracking, Tracking)
        work = tracking.work
    assert work > 0
    for batch in range(1, 4):
        with rf.Tracker.open(tmp_path / "tracker", ways=ways) as tracker:
            tracker.insert([{"id": n + 2 * batch + i, "zip": 3, "city": 1} for i in range(2)])
            tracker.delete([batch])
            tracking = tracker._ready()
            assert isinstance(tracking, Tracking)
            assert (tracking.moved, tracking.work) == (3 * batch, work)


def test_first_nulls_that_make_points_wider_are_kept(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(18)]

    def rows(first: int, last: int, *, nulls: bool = False) -> pa.Table:
        cells = {
            name: pa.array(
                [None if nulls and row % 2 else row * (at + 3) % 9 for row in range(first, last)], pa.int64()
            )
            for at, name in enumerate(names)
        }
        return pa.table({"id": range(first, last), **cells})

    folder = tmp_path / "tracker"
    few: dict[str, Any] = {"columns": names, "cross_columns": False, "max_predicates": 2}
    with rf.Tracker.open(folder, rows(0, 30), key="id", **few) as tracker:
        tracker.commit()
        tracker.insert(rows(30, 31))
        tracker.commit()
        tracker.insert(rows(31, 35, nulls=True))  # so each column has a state more, and points have two words
        tracker.commit()
        rules = [str(rule.constraint) for rule in tracker.rules]
    with rf.Tracker.open(folder) as tracker:
        assert [str(rule.constraint) for rule in tracker.rules] == rules
