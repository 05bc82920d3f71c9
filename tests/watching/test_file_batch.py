"""Files that arrive together give what they would give if each had come alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from refute.errors import SchemaError
from refute.language.rulebook import RuleBook
from refute.relation.read.schema import Schema
from refute.watching.file_batch import FileBatch
from refute.watching.intake import Intake, read_by
from refute.watching.places import WatchPlaces
from refute.watching.watcher import Watcher, WatchOptions

RULES = tuple(RuleBook.of("zip -> city"))
PLAIN = "id,zip,city\n1,z,A\n"
Files = dict[str, str | dict[str, list[Any]]]


def written(folder: Path, files: Files) -> list[Path]:
    """The files, in the order of their names."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        if isinstance(content, str):
            (folder / name).write_text(content)
        else:
            parquet.write_table(pa.table(content), folder / name)
    return sorted(folder / name for name in files)


def taken(
    folder: Path,
    batches: Sequence[Files],
    op: str | None = None,
    order: str | None = None,
    *,
    schema: str | None = None,
    begins: int = 0,
) -> tuple[dict[str, int], list[tuple[Any, ...]]]:
    """The violations of each rule and the rows, after batches of files."""
    options = WatchOptions(RULES, ("id",), op, order)
    places = WatchPlaces(folder / "kept")
    watcher = Watcher.open(places.folder, options)
    try:
        for number, files in enumerate(batches, begins):
            read = read_by(RULES, ("id",))
            if order is not None:
                read.setdefault(order, "the order of changes")
            intake = Intake(number, op is not None, op, order, read, {})
            batch = FileBatch(written(folder / "in", files), str(folder / "in"), intake, ("id",), Schema.of(schema))
            watcher.take(number, None, batch.table(watcher.schema))
        rows = watcher.state.living()[1].select(["id", "zip", "city"]).sort_by("id").to_pylist()
        return {rule.name: count for rule, count in zip(RULES, watcher._held.counts.values(), strict=True)}, [
            tuple(row.values()) for row in rows
        ]
    finally:
        watcher.close()


ALIKE: dict[str, Files] = {
    "a further column": {"a.csv": PLAIN, "b.csv": "id,zip,city,extra\n2,z,B,9\n", "c.csv": "id,zip,city\n3,y,C\n"},
    "a further column first": {"a.csv": "id,zip,city,extra\n2,z,B,9\n", "b.csv": PLAIN},
    "another order": {"a.csv": PLAIN, "b.csv": "city,id,zip\nB,2,z\n"},
    "another type that nothing reads": {"a.csv": "id,zip,city,n\n1,z,A,1\n", "b.csv": "city,id,zip,n\nB,2,z,x\n"},
    "other formats": {
        "a.csv": PLAIN,
        "b.json": json.dumps({"id": 2, "zip": "z", "city": "B"}),
        "c.parquet": {"id": [3], "zip": ["z"], "city": ["C"], "more": [[1]]},
        "d.tsv": "id\tcity\tzip\n4\tA\tz\n",
    },
    "types of JSON": {
        "a.json": '{"id": 1, "zip": "1", "city": "A"}',
        "b.json": '{"id": 2, "zip": 1, "city": "B"}\n{"id": 3, "zip": 1}',
        "c.json": '{"id": 4, "zip": 1, "city": null}',
    },
    "types of Parquet": {
        "a.parquet": {"id": [1], "zip": [7], "city": ["A"]},
        "b.parquet": {"id": pa.array([2], pa.int16()), "zip": [7.0], "city": ["B"], "extra": ["x"]},
    },
}


@pytest.mark.parametrize("name", ALIKE)
def test_files_of_one_batch_are_read_as_if_each_came_alone(tmp_path: Path, name: str) -> None:
    files = ALIKE[name]
    (tmp_path / "one").mkdir()
    (tmp_path / "each").mkdir()
    (tmp_path / "later").mkdir()
    together = taken(tmp_path / "one", [files])
    assert together[0] != {"zip_fixes_city": 0}
    assert taken(tmp_path / "each", [{file: text} for file, text in files.items()]) == together
    first, *others = files.items()
    assert taken(tmp_path / "later", [dict([first]), dict(others)]) == together


def test_types_of_the_first_files_are_those_that_all_their_cells_fit(tmp_path: Path) -> None:
    files: Files = {"a.csv": "id,zip,city\n1,94110,A\n", "b.csv": "id,city,zip\n2,B,04110\n"}
    assert taken(tmp_path, [files])[1] == [(1, "94110", "A"), (2, "04110", "B")]


def test_a_schema_holds_for_each_header(tmp_path: Path) -> None:
    files: Files = {"a.csv": "id,zip,city\n1,010,A\n", "b.csv": "more,city,id,zip\n5,B,2,010\n"}
    assert taken(tmp_path, [files], schema="id bigint, zip string, city string")[1] == [
        (1, "010", "A"),
        (2, "010", "B"),
    ]


def test_rows_that_go_need_nothing_but_their_keys_in_a_file_beside_others(tmp_path: Path) -> None:
    files: Files = {
        "a.csv": "op,seq,id,zip,city\ninsert,1,1,z,A\ninsert,2,2,z,B\ninsert,3,3,z,C\n",
        "b.csv": "op,id,seq\ndelete,2,4\n",
        "c.csv": "seq,op,id,zip,city\n5,update,3,z,D\n",
    }
    (tmp_path / "one").mkdir()
    (tmp_path / "each").mkdir()
    expected = {"zip_fixes_city": 2}, [(1, "z", "A"), (3, "z", "D")]
    assert taken(tmp_path / "one", [files], "op", "seq") == expected
    assert taken(tmp_path / "each", [{file: text} for file, text in files.items()], "op", "seq") == expected


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"b.csv": "id,zip,town\n2,z,B\n"}, r"b\.csv of batch 0 lacks the column 'city'"),
        ({"b.json": '{"id": 2, "zip": "z", "town": "B"}'}, r"b\.json of batch 0 lacks the column 'city'"),
        ({"b.parquet": {"id": [2], "zip": ["z"]}}, r"b\.parquet of batch 0 lacks the column 'city'"),
        ({"b.parquet": {"id": [2], "zip": [1], "city": ["B"]}}, r"b\.parquet of batch 0 has a different type"),
    ],
)
def test_a_file_that_lacks_what_a_rule_reads_is_named(tmp_path: Path, second: Files, message: str) -> None:
    first: Files = {"a.csv": PLAIN}
    (tmp_path / "one").mkdir()
    (tmp_path / "each").mkdir()
    with pytest.raises(SchemaError, match=message):
        taken(tmp_path / "one", [first | second])
    with pytest.raises(SchemaError, match=r"city|zip"):
        taken(tmp_path / "each", [first, second])


def test_the_order_of_changes_may_be_a_column_that_rows_do_not_keep(tmp_path: Path) -> None:
    first: Files = {"a.csv": "op,id,zip,city\ninsert,1,z,A\n"}
    feed = [
        {"op": "update", "seq": 7, "id": 1, "zip": "z", "city": "B"},
        {"op": "update", "seq": 6, "id": 1, "zip": "z", "city": "C"},
        {"op": "insert", "seq": 8, "id": 3, "zip": "z"},
    ]
    second: Files = {"b.json": "\n".join(map(json.dumps, feed))}
    third: Files = {"c.csv": "seq,op,id\n9,delete,1\n", "d.csv": "seq,op,id,zip,city\n8,update,1,y,7\n"}
    assert taken(tmp_path, [first], "op")[1] == [(1, "z", "A")]
    assert taken(tmp_path, [second], "op", "seq", begins=1)[1] == [(1, "z", "B"), (3, "z", None)]
    assert taken(tmp_path, [third], "op", "seq", begins=2)[1] == [(3, "z", None)]
    with pytest.raises(SchemaError, match=r"Batch 3 lacks the column 'seq', which the order of changes reads"):
        taken(tmp_path, [{"e.csv": "op,id,zip,city\ninsert,9,z,A\n"}], "op", "seq", begins=3)
    mixed: Files = {"f.csv": "op,seq,id\ndelete,1,3\n", "g.csv": "op,id,seq\ndelete,9,x\n"}
    with pytest.raises(SchemaError, match="Files of batch 3 have different types in 'seq', the order of changes"):
        taken(tmp_path, [mixed], "op", "seq", begins=3)


def test_a_text_of_digits_stays_a_text_beside_a_column_without_a_value(tmp_path: Path) -> None:
    batches: list[Files] = [
        {"a.csv": "id,zip,city,x\n1,z1,A,\n"},
        {"b.csv": "id,zip,city,x\n2,07,A,\n"},
        {"c.csv": "id,zip,city,x\n3,7,,\n", "d.json": '{"id": 4, "zip": "7", "city": "C", "x": null}'},
        {"e.csv": "id,zip,city,x\n5,7,D,1\n"},
    ]
    expected = {"zip_fixes_city": 2}, [(1, "z1", "A"), (2, "07", "A"), (3, "7", None), (4, "7", "C"), (5, "7", "D")]
    assert taken(tmp_path, batches) == expected


def test_what_a_column_without_a_value_holds_is_compared_as_in_a_check_of_all_rows(tmp_path: Path) -> None:
    rules = tuple(RuleBook.of("not (s.zip < t.zip and s.city > t.city)"))
    watcher = Watcher.open(tmp_path / "kept", WatchOptions(rules, ("id",)))
    for number, text in enumerate(["id,zip,city\n1,,\n", "id,zip,city\n2,9,5\n3,10,6\n"]):
        intake = Intake(number, False, None, None, read_by(rules, ("id",)), {})
        files = written(tmp_path / "in", {f"{number}.csv": text})
        watcher.take(number, None, FileBatch(files, str(tmp_path / "in"), intake, ("id",)).table(watcher.schema))
    assert [*watcher._held.counts.values()] == [0]  # of texts, '10' < '9'
    watcher.close()
