"""Files of a watch that are lost, damaged, or of another moment: its start is refused and names them, or mends them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

import refute as rf
from refute.errors import DataError
from refute.watching.records import read_history
from watching.test_rule_changes import FIXES, UNIQUE, book
from watching.test_watcher import QUERY, folded, opened, rows


def flip(path: Path) -> None:
    """One bit is another."""
    held = bytearray(path.read_bytes())
    held[len(held) // 3] ^= 1
    path.write_bytes(held)


def cut(path: Path) -> None:
    """The last bytes are gone."""
    path.write_bytes(path.read_bytes()[:-5])


def begun(folder: Path, where: int | None, batches: int = 3) -> Path:
    """A watch that has taken some batches."""
    watcher = opened(folder, driver_bytes=where)
    for batch in range(batches):
        watcher.take(batch, QUERY, rows(id=[2 * batch, 2 * batch + 1]))
    watcher.close()
    return folder


def open_lines(folder: Path) -> set[tuple[int, int, int]]:
    """The open violations of the table, with the batch since which they are."""
    lines = parquet.read_table(folder / "violations").to_pylist()
    return {(one["s"], one["t"], one["since"]) for one in lines if one["until"] is None}


@pytest.mark.parametrize("where", [None, 0])
@pytest.mark.parametrize("harm", [flip, cut, Path.unlink])
def test_a_table_that_is_not_as_it_was_written_is_refused_and_made_anew_once_it_is_removed(
    tmp_path: Path, where: int | None, harm: Callable[[Path], None]
) -> None:
    begun(tmp_path, where)
    known = {(s, t) for s, t, _ in open_lines(tmp_path)}
    path = sorted((tmp_path / "violations").resolve().iterdir())[0]
    harm(path)
    named = path.name if path.exists() else f"Files of {path.parent} are missing"
    with pytest.raises(DataError, match=rf"{named}.* Remove {tmp_path}/tables to have open violations listed again"):
        opened(tmp_path, driver_bytes=where)
    shutil.rmtree(path.parent)
    (tmp_path / "tables" / "00000000").mkdir(exist_ok=True)
    with pytest.raises(DataError, match=rf"{path.parent} is missing. .*Remove .* resolved ones are then gone\.$"):
        opened(tmp_path, driver_bytes=where)
    shutil.rmtree(tmp_path / "tables")
    with pytest.warns(
        RuntimeWarning, match="tables is missing. Open violations are listed again, as of the last batch"
    ):
        watcher = opened(tmp_path, book(UNIQUE, FIXES), driver_bytes=where)
    assert open_lines(tmp_path) == {(s, t, 2) for s, t in known}
    assert len(folded(tmp_path)) == len(known)
    watcher.take(3, QUERY, rows(id=[8, 9]))
    watcher.close()
    assert len(open_lines(tmp_path)) == len(folded(tmp_path)) == 32
    assert rf.Watch(tmp_path).counts == {"one": 0, "two": 32}
    opened(tmp_path, book(UNIQUE, FIXES), driver_bytes=where).close()


def test_a_file_of_the_table_that_is_harmed_later_is_named(tmp_path: Path) -> None:
    watcher = opened(tmp_path, op="op")
    watcher.take(0, QUERY, rows(op=["insert", "insert"]))
    watcher.close()
    watcher = opened(tmp_path, op="op")
    (path,) = (tmp_path / "violations").resolve().iterdir()
    cut(path)
    with pytest.raises(DataError, match=f"{path} cannot be read"):
        watcher.take(1, QUERY, rows(op=["delete", "delete"]))


def test_violations_of_rows_in_shards_come_from_a_file_that_is_named_if_it_is_damaged(tmp_path: Path) -> None:
    begun(tmp_path, 0)
    path = sorted((tmp_path / "violations").resolve().iterdir())[0]
    cut(path)
    with pytest.raises(DataError, match=f"{path} is damaged: its checksum does not match"):
        list(rf.Watch(tmp_path).violations("zip_fixes_city"))


@pytest.mark.parametrize(
    "harm",
    [
        lambda line: line.replace(b'"rows":', b'"rows"z'),
        lambda line: line.replace(b'"rows":', b'"rovs":'),
        lambda line: line.replace(b'"open":', b'"opem":'),
        lambda line: line.replace(b'"driver"', b'"\xffriver"'),
        lambda line: line[:-1] + line,
    ],
)
def test_a_history_that_is_damaged_is_named_with_the_line(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    path = begun(tmp_path, None) / "batches.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], harm(lines[1]), lines[2]]))
    said = rf"{path} is damaged: the line that begins with '\{{\"batch\": 1, .* Remove that line"
    with pytest.raises(DataError, match=said):
        opened(tmp_path)
    with pytest.raises(DataError, match=said):
        rf.Watch(tmp_path).batches  # noqa: B018
    path.write_bytes(b"".join([lines[0], lines[2]]))
    opened(tmp_path).close()
    assert path.read_bytes() == b"".join([lines[0], lines[2]])
    path.unlink()
    with pytest.warns(RuntimeWarning, match=r"batches\.jsonl is missing\. It starts again with the last batch"):
        opened(tmp_path).close()
    assert path.read_bytes() == lines[2]


@pytest.mark.parametrize("harm", [Path.unlink, cut])
def test_files_of_shards_are_looked_at_before_a_batch_comes(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    begun(tmp_path / "one", 0)
    paths = sorted((tmp_path / "one" / "shards").glob("*.changes"))
    assert paths
    for path in paths:
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "one", copy, symlinks=True)
        harm(copy / "shards" / path.name)
        with pytest.raises(DataError, match=rf"{copy}/shards/{path.name} is (missing|damaged: it ends too early)"):
            opened(copy, driver_bytes=0)
        shutil.rmtree(copy)


def test_what_readers_see_of_batches_that_the_state_does_not_have_goes(tmp_path: Path) -> None:
    begun(tmp_path, None, 1)
    shutil.copytree(tmp_path / "state", tmp_path.parent / "old")
    watcher = opened(tmp_path)
    watcher.take(1, QUERY, rows(id=[2, 3]))
    watcher.close()
    lines = (tmp_path / "batches.jsonl").read_text()
    (tmp_path / "checkpoint" / "commits").mkdir()
    (tmp_path / "checkpoint" / "commits" / "1").touch()
    shutil.rmtree(tmp_path / "state")
    shutil.move(tmp_path.parent / "old", tmp_path / "state")
    with pytest.raises(DataError, match=r"Batch 1 has been taken by Spark, but .* stopped after batch 0: state and"):
        opened(tmp_path)
    assert (tmp_path / "batches.jsonl").read_text() == lines  # as the state may be restored
    (tmp_path / "checkpoint" / "commits" / "1").rename(tmp_path / "checkpoint" / "commits" / "0")
    watcher = opened(tmp_path)
    assert watcher.before == (0, 0)
    assert [one.batch for one in read_history(tmp_path / "batches.jsonl")] == [0]
    assert len(folded(tmp_path)) == len(open_lines(tmp_path)) == 2
    watcher.take(1, QUERY, rows(id=[2, 3], zip=["b", "b"], city=["x", "x"]))
    watcher.close()
    assert len(folded(tmp_path)) == 2
    assert [json.loads(line)["batch"] for line in (tmp_path / "batches.jsonl").read_text().splitlines()] == [0, 1]
