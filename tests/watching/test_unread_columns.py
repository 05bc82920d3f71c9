"""Columns that no rule reads, nor the key, the operation or the order, never keep a batch from being taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from refute.errors import DataError, SchemaError
from refute.language.rulebook import RuleBook
from refute.relation.read.files import local_files
from refute.relation.read.schema import Schema
from refute.watching.file_batch import FileBatch
from refute.watching.intake import Intake, read_by
from refute.watching.watcher import Watcher, WatchOptions
from spreading import TasksHere

RULES = tuple(RuleBook.of("zip -> city"))
KINDS = [1, 1.5, "a", True, {"a": 1}, {"a": "t"}, [1], ["a", 1, {}], None, 10**30, 10**400, "2020-01-01", "\ud800"]
Files = dict[str, str | pa.Table]


def row(number: int, **more: Any) -> str:
    """A row that clashes with all others, as JSON."""
    return json.dumps({"id": number, "zip": "z", "city": f"c{number}", **more})


def table(number: int, **more: Any) -> pa.Table:
    return pa.table({"id": [number], "zip": ["z"], "city": [f"c{number}"], **more})


def opened(folder: Path, where: int | None) -> Watcher:
    options = WatchOptions(RULES, ("id",), driver_bytes=where)
    return Watcher.open(folder / "kept", options, TasksHere(2))


def taken(folder: Path, batches: Sequence[Files], where: int | None, schema: str | None = None) -> pa.Table:
    """The rows after batches of files, each taken by a run of its own; every pair of them is a violation."""
    for number, files in enumerate(batches):
        place = folder / f"batch {number}"
        place.mkdir(parents=True)
        for name, content in files.items():
            if isinstance(content, str):
                (place / name).write_text(content)
            else:
                parquet.write_table(content, place / name)
        watcher = opened(folder, where)
        try:
            intake = Intake(number, False, None, None, read_by(RULES, ("id",)), {})
            batch = FileBatch(local_files(str(place)), str(place), intake, ("id",), Schema.of(schema))
            watcher.take(number, None, batch.table(watcher.schema))
            found = watcher.live_engine().relation.arrow
            assert watcher._held.counts == {"zip_fixes_city": len(found) * (len(found) - 1)}
        finally:
            watcher.close()
    return found


@pytest.mark.parametrize("where", [None, 0])
def test_a_column_of_json_may_hold_anything(tmp_path: Path, where: int | None) -> None:
    for place, first in enumerate(KINDS):
        other = KINDS[(place + (4 if where is None else 7)) % len(KINDS)]
        together: Files = {"a.json": "\n".join([row(1, x=first), row(2, x=other)])}
        apart: Files = {"a.json": row(1, x=first), "b.json": row(2, x=other)}
        later: Files = {"c.json": "\n".join([row(3, x=other), row(4, x=first)]), "d.json": row(5)}
        back: Files = {"e.json": row(6, x=first), "f.json": row(7, y=[{"x": first}])}
        for name, files in (("together", together), ("apart", apart)):
            assert len(taken(tmp_path / name / str(place), [files, later, back], where)) == 7


@pytest.mark.parametrize("where", [None, 0])
def test_a_column_of_parquet_may_have_any_type(tmp_path: Path, where: int | None) -> None:
    columns = [
        pa.array([1]),
        pa.array([1 << 63], pa.uint64()),
        pa.array([1.5]),
        pa.array(["a"]),
        pa.array(["a"]).dictionary_encode(),
        pa.array([{"a": 1}]),
        pa.array([["a"]]),
        pa.array([b"\xff"]),
        pa.array([b"0" * 16], pa.uuid()),
        pa.array(["{}"], pa.json_()),
        pa.array([1], pa.timestamp("us", "UTC")),
        pa.array([None]),
    ]
    for place, first in enumerate(columns):
        other = columns[(place + (5 if where is None else 7)) % len(columns)]
        batches: list[Files] = [
            {"a.parquet": table(1, x=first), "b.parquet": table(2, x=other)},
            {"c.parquet": table(3, x=other), "d.parquet": table(4, y=other)},
            {"e.parquet": table(5, x=first)},
        ]
        assert len(taken(tmp_path / str(place), batches, where)) == 5
    twice = pa.table([[1], ["z"], ["c"], [1], ["a"]], ["id", "zip", "city", "x", "x"])
    assert taken(tmp_path / "twice", [{"a.parquet": twice}], where).column_names == ["id", "zip", "city"]


@pytest.mark.parametrize("where", [None, 0])
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        (None, ["id,zip,city,x,x\n1,z,a,1,2\n", "id,x,zip,city,x,\n2,1,z,b,,\n"]),
        (None, ["id,zip,city,x\n1,z,a,1\n", "id,zip,city,X\n2,z,b,q\n", "id,zip,city,x\n3,z,c,2020-01-01\n"]),
        ("id int, zip string, city string, x int", ["id,zip,city,x\n1,z,a,q\n", "id,zip,city\n2,z,b\n"]),
        ("id int, zip string, city string, x int", ["id,zip,city,x\n1,z,a,4\n", "id,zip,city,x\n2,z,b,q\n"]),
    ],
)
def test_a_column_of_csv_may_hold_anything_and_share_its_name(
    tmp_path: Path, schema: str | None, files: list[str], where: int | None
) -> None:
    named = {f"{number}.csv": text for number, text in enumerate(files)}
    assert len(taken(tmp_path / "one", [named], where, schema)) == len(files)
    each: list[Files] = [{name: text} for name, text in named.items()]
    assert len(taken(tmp_path / "each", each, where, schema)) == len(files)


@pytest.mark.parametrize("where", [None, 0])
def test_values_are_kept_as_long_as_all_batches_have_them(tmp_path: Path, where: int | None) -> None:
    first: Files = {"a.json": "\n".join([row(1, x=7, y=1, n={"a": 1}), row(2, x=8, y="b")])}
    found = taken(tmp_path, [first, {"b.json": row(3, x=9)}], where)
    assert found.sort_by("id").to_pydict() == {
        "id": [1, 2, 3],
        "zip": ["z"] * 3,
        "city": ["c1", "c2", "c3"],
        "x": [7, 8, 9],
    }
    for number, other in enumerate(["text", 10], 2):  # of which the second would fit again
        watcher = opened(tmp_path, where)
        read = read_by(RULES, ("id",))
        (tmp_path / "c.json").write_text(row(number + 2, x=other))
        batch = FileBatch([tmp_path / "c.json"], str(tmp_path), Intake(number, False, None, None, read, {}), ("id",))
        watcher.take(number, None, batch.table(watcher.schema))
        assert watcher.live_engine().relation.arrow.sort_by("id").column("x").to_pylist()[3:] == [None] * (number - 1)
        watcher.close()
    with pytest.raises(
        SchemaError, match="column 'x', which rule 'zip_fixes_x' reads, is missing in the rows since batch 2"
    ):
        Watcher.open(tmp_path / "kept", WatchOptions(tuple(RuleBook.of("zip -> x"))), TasksHere(2))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.json": "\n".join([row(1), '{"id": 2, "zip": 1, "city": "c"}'])}, r"line 2, column 'zip' is a number"),
        (
            {
                "a.json": "\n".join(
                    [row(1, x="a", y="\ud800"), '{"id": 2, "zip": 1, "city": "c", "x": 1, "\\ud800": 1}']
                )
            },
            r"line 2, column 'zip' is a number",
        ),
        ({"a.json": row(1, x=1) + "\n" + row(2, x="a") + "\n{broken"}, r"a\.json.*Line 3 is not JSON"),
        ({"a.json": row(1, x=1) + "\n" + row(2, x="a") + row(3)}, r"a\.json.*Line 2 is not JSON"),
        ({"a.json": row(1, Zip=1)}, r"differ only by case"),
        ({"a.csv": "id,zip,city,zip\n1,z,a,z\n"}, r"more than one column 'zip'"),
        ({"a.csv": "id,zip,city,x\n1,z,a,1\n2,z,b,1,5\n"}, r"a\.csv.*3"),
    ],
)
def test_columns_that_are_read_and_files_that_are_broken_are_refused(
    tmp_path: Path, files: Files, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        taken(tmp_path, [files], None)


@pytest.mark.parametrize("where", [None, 0])
@pytest.mark.parametrize("text", ["id,zip,city,ZIP\n1,z,a,q\n", "ID,id,zip,city\n9,1,z,a\n"])
def test_a_name_that_differs_by_case_is_a_column_of_its_own_however_files_arrive(
    tmp_path: Path, text: str, where: int | None
) -> None:
    named: Files = {"a.csv": text, "b.csv": text.replace("1,z,a", "2,z,b")}
    assert len(taken(tmp_path / "together", [named], where)) == 2
    assert len(taken(tmp_path / "apart", [{name: part} for name, part in named.items()], where)) == 2
    tables: Files = {f"{number}.parquet": table(number, ZIP=["q"], Id=[[number]]) for number in (1, 2)}
    assert len(taken(tmp_path / "tables", [tables], where)) == 2


def test_a_file_that_spells_a_column_otherwise_is_refused_among_files_that_have_it(tmp_path: Path) -> None:
    right, wrong = "id,zip,city\n1,z,a\n", "id,ZIP,city\n2,z,b\n"
    with pytest.raises(SchemaError, match=r"b\.csv of batch 0 lacks the column 'zip'.* Did you mean 'ZIP'\?"):
        taken(tmp_path, [{"a.csv": right, "b.csv": wrong}], None)


@pytest.mark.parametrize("where", [None, 0])
@pytest.mark.parametrize("together", [False, True])
def test_a_column_of_csv_without_a_value_gets_its_type_from_the_first_values(
    tmp_path: Path, where: int | None, together: bool
) -> None:
    texts = ["id,zip,city,x\n1,,a,\n", "id,zip,city,x\n2,,b,\n", "id,zip,city,x\n3,7,c,2\n4,7,d,10\n"]
    files: Files = {f"{number}.csv": text for number, text in enumerate(texts)}
    batches: list[Files] = [files] if together else [{name: text} for name, text in files.items()]
    last: Files = {"e.csv": "id,zip,city,x\n5,,,\n", "f.json": '{"id": 6, "zip": 9, "city": "e", "x": 3}'}
    for number, named in enumerate([*batches, last]):
        (tmp_path / str(number)).mkdir()
        for name, text in named.items():
            (tmp_path / str(number) / name).write_text(text)
        watcher = opened(tmp_path, where)
        intake = Intake(number, False, None, None, read_by(RULES, ("id",)), {})
        place = tmp_path / str(number)
        watcher.take(
            number, None, FileBatch(local_files(str(place)), str(place), intake, ("id",)).table(watcher.schema)
        )
        found = watcher.live_engine().relation.arrow.sort_by("id").to_pydict()
        counts = watcher._held.counts
        watcher.close()
    assert found["zip"] == [None, None, 7, 7, None, 9]
    assert found["x"] == [None, None, 2, 10, None, 3]
    assert counts == {"zip_fixes_city": 2}
