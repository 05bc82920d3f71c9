"""Damaged and odd files: an answer or one clear error, never a crash; looked at in another process, which may die."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest

import refute as rf
from refute.errors import DataError
from refute.faults import ragged_row
from refute.relation import read_local
from refute.relation.read.csv.options import CsvOptions
from refute.relation.read.csv.ragged import with_line

READER = """
import sys
from refute.errors import RefuteError
from refute.relation import Relation, read_local
for line in sys.stdin:
    path = line.strip()
    print("reads", path, flush=True)
    try:
        table = read_local(path)
        relation = Relation.of(table)
        for name in dict.fromkeys(table.column_names):
            try:
                relation.encode(name, ordered=True)
            except RefuteError:
                pass
        if len(table):
            str(relation.row(len(table) - 1))
        print("fine", flush=True)
    except RefuteError as error:
        print("refused", str(error).replace(chr(10), " "), flush=True)
"""
TABLE = pa.table(
    {
        "n": [i % 9 for i in range(60)],
        "text": [None if i % 7 == 0 else f"text {i % 30}" for i in range(60)],
        "x": [i / 7 for i in range(60)],
        "price": [Decimal(i) / 4 for i in range(60)],
        "day": pa.array(range(60), pa.int32()).cast(pa.date32()),
    }
)


def answers(paths: list[Path]) -> dict[str, str]:
    """What reading each file says, in a process of its own; a crash or a traceback fails."""
    asked = "".join(f"{path}\n" for path in paths)
    ran = subprocess.run([sys.executable, "-c", READER], input=asked, capture_output=True, text=True, timeout=600)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, (lines[-1:], ran.stderr[-2000:])
    return {Path(lines[i].removeprefix("reads ")).name: lines[i + 1] for i in range(0, len(lines), 2)}


def written(kind: str) -> bytes:
    """The sample as a file of a format."""
    sink = io.BytesIO()
    match kind:
        case "csv":
            pyarrow.csv.write_csv(TABLE, sink)
        case "json":
            rows = TABLE.drop_columns(["price", "day"]).to_pylist()
            sink.write("\n".join(map(json.dumps, rows)).encode())
        case "parquet":
            pyarrow.parquet.write_table(TABLE, sink)
        case "orc":
            pyarrow.orc.write_table(TABLE, sink)
        case "arrow":
            pyarrow.feather.write_feather(TABLE, sink, compression="uncompressed")
        case "feather":
            coded = TABLE.set_column(1, "text", TABLE["text"].dictionary_encode())
            pyarrow.feather.write_feather(coded, sink, compression="lz4")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("kind", "count"), [("csv", 60), ("json", 60), ("parquet", 60), ("arrow", 120), ("feather", 60), ("orc", 4)]
)
def test_files_with_some_bytes_changed_are_read_or_refused(kind: str, count: int, tmp_path: Path) -> None:
    draw, whole = random.Random(11), written(kind)
    paths = [tmp_path / f"whole.{kind}"]
    paths[0].write_bytes(whole)
    for i in range(count):
        damaged = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 5, 20))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        paths.append(tmp_path / f"{i}.{kind}")
        paths[-1].write_bytes(damaged if draw.random() < 0.9 else damaged[: draw.randrange(len(damaged))])
    found = answers(paths)
    assert found.pop(f"whole.{kind}") == "fine"
    assert len(found) == count
    assert all(said == "fine" or said.startswith("refused ") for said in found.values())
    assert any(said != "fine" for said in found.values())


def test_a_reader_that_crashes_is_told_from_one_that_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.orc"
    file.write_bytes(b"nothing of ORC")
    with pytest.raises(DataError, match=r"Cannot read '.*t\.orc': .*ORC"):
        read_local(file)
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crashing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(crashing))
    with pytest.raises(DataError, match=r"Cannot read '.*t\.orc': The file is damaged"):
        read_local(file)


def test_reading_orc_imports_nothing_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyarrow.py").write_text("raise SystemExit('imported from the working directory')")
    (tmp_path / "t.orc").write_bytes(written("orc"))
    monkeypatch.chdir(tmp_path)
    assert read_local("t.orc") == TABLE


DEEP = 100_000
ODD_JSON: dict[str, tuple[bytes, str]] = {
    "null": (b'null\n{"a":1}\n', "Line 1 is not a JSON object"),
    "scalar": (b"5\n", "Line 1 is not a JSON object"),
    "array": (b'[{"a":1}]\n', "Line 1 is not a JSON object"),
    "text": (b'{"a":1}\n\n  \n"x"\n', "Line 4 is not a JSON object"),
    "pretty": (b'{\n"a": 1\n}\n', "Line 2 is not a JSON object"),
    "two": (b'{"a":1}{"a":2}\n', "more than one object"),
    "lists": (b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}\n", "Line 1 nests values more than 500 levels deep"),
    "objects": (b'{"a":1}\n' + b'{"a":' * DEEP + b"1" + b"}" * DEEP, "Line 2 nests values more than 500 levels deep"),
    "uneven": (b'{"a":' + b"[[]," * DEEP, "Line 1 nests values more than 500 levels deep"),
    "bytes": (b'{"a":"\xff"}\n', "not UTF-8 text"),
    "name": (b'{"\xff":1}\n', "not UTF-8 text"),
    "half": (b'{"a":"\\ud800"}\n', "surrogate"),
    "cut": (b'{"a":1}\n{"a"', "Line 2 is not JSON"),
    "kinds": (
        b'{"a":1,"b":null}\n{"a":1.5,"b":"x"}\n{"a":2,"b":[]}\n',
        "In line 3, column 'b' is a list, where line 2 has text",
    ),
    "empty": (b"", "Empty JSON file"),
    "case": (b'{"A":1}\n{"a":2}\n', "differ only by case: .* has both 'A' and 'a'"),
}


def test_json_that_is_not_one_object_a_line_is_refused(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.json" for name in ODD_JSON}
    for name, (text, _) in ODD_JSON.items():
        paths[name].write_bytes(text)
    found = answers(list(paths.values()))
    for name, (_, words) in ODD_JSON.items():
        said = found[f"{name}.json"]
        assert said.startswith("refused "), name
        with pytest.raises(DataError, match=words):
            read_local(paths[name])
    for name in ("lists", "half", "null", "bytes"):
        with pytest.raises(DataError, match=r"Cannot read '.*json'"):
            rf.count(str(paths[name]), "unique(a)", engine="local", schema="a string")


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        (b'\xef\xbb\xbf  {"a":1}\r\n\r\n\t{"a":2}', pa.int64(), [1, 2]),
        (b'{"a":"' + b"[" * 2000 + b'"}', pa.string(), ["[" * 2000]),
        (b'{"a":9223372036854775807}', pa.int64(), [2**63 - 1]),
        (b'{"a":9223372036854775808}\n{"b":1}\n{"a":1}', pa.decimal128(20, 0), [2**63, None, 1]),
        (b'{"a":-9223372036854775809}', pa.decimal128(20, 0), [-(2**63) - 1]),
        (b'{"a":1%s}\n{"a":1}' % (b"0" * 36), pa.decimal128(37, 0), [10**36, 1]),
        (b'{"a":1%s}' % (b"0" * 45), pa.float64(), [1e45]),
        (b'{"a":1%s}' % (b"0" * 5000), pa.float64(), [float("inf")]),
        (b'{"a":9223372036854775808}\n{"a":0.5}', pa.float64(), [2.0**63, 0.5]),
        (b'{"a":"12345678901234567890"}', pa.string(), ["12345678901234567890"]),
    ],
    ids=lambda one: str(one)[:40],
)
def test_json_keeps_every_digit_that_spark_keeps(
    text: bytes, kind: pa.DataType, values: list[Any], tmp_path: Path
) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(text)
    found = read_local(file).column("a")
    assert found.type == kind
    assert found.to_pylist() == values


def test_whole_numbers_beyond_64_bits_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"a":9223372036854775808,"b":0.5}\n{"a":9223372036854775809,"b":1.5}\n')
    (tmp_path / "2.json").write_text('{"a":9223372036854775807,"b":2}\n')
    assert rf.count(str(tmp_path), "unique(a)", engine="local") == 0
    assert rf.count(str(tmp_path), "not (s.a < t.a)", engine="local") == 3


@pytest.mark.parametrize("size", [(1 << 20) - 8, 3 << 20])
def test_a_cell_may_be_longer_than_what_arrow_reads_at_once(size: int, tmp_path: Path) -> None:
    cell = "x" * size
    (tmp_path / "t.csv").write_text(f"a,b\n1,{cell}\n2,y\n")
    (tmp_path / "t.json").write_text(f'{{"a":1,"b":"{cell}"}}\n{{"a":2,"b":"y"}}\n')
    for name in ("t.csv", "t.json"):
        table = read_local(tmp_path / name)
        assert table.column("a").to_pylist() == [1, 2]
        assert [len(text) for text in table.column("b").to_pylist()] == [size, 1]


def test_a_line_of_very_many_cells_is_one_short_error(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n" + "1," * 1_000_000 + "\n2,y\n")
    with pytest.raises(DataError, match=r"t.csv:2: This row has 1,000,001 cells instead of 2") as raised:
        read_local(file)
    assert len(str(raised.value)) < 600


def test_a_name_that_is_not_utf_8_is_refused_also_where_a_glob_or_folder_finds_it(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.csv")
    Path(name).write_text("a\n1\n")
    for path in (name, str(tmp_path / "n*.csv"), str(tmp_path)):
        for ask in (rf.count, rf.check):
            with pytest.raises(DataError, match=r"is not UTF-8\. Rename the file") as raised:
                ask(path, "unique(a)", engine="local")
            assert str(raised.value).isprintable()


@pytest.mark.parametrize("kind", ["parquet", "orc", "arrow", "json"])
def test_files_that_spell_a_column_in_two_ways_are_refused(kind: str, tmp_path: Path) -> None:
    for name, column in (("1", "Zip"), ("2", "zip")):
        table, file = pa.table({column: [1], "b": [1]}), tmp_path / f"{name}.{kind}"
        match kind:
            case "parquet":
                pyarrow.parquet.write_table(table, file)
            case "orc":
                pyarrow.orc.write_table(table, file)
            case "arrow":
                pyarrow.feather.write_feather(table, file)
            case _:
                file.write_text(json.dumps(table.to_pylist()[0]))
    with pytest.raises(DataError, match=r"'.*/1\.\w+' has 'Zip' and '.*/2\.\w+' has 'zip'. Spell"):
        read_local(tmp_path)


def test_of_a_row_too_far_down_to_look_for_or_with_a_huge_cell_only_the_text_is_told(tmp_path: Path) -> None:
    plain = ragged_row("t.csv", "1,2,3")
    for text, most in (("a,b\n1,2\n1,2,3\n", 10), ("a,b\n1," + "x" * 200_000 + "\n1,2,3\n", 1 << 30)):
        (tmp_path / "t.csv").write_text(text)
        assert with_line(plain, tmp_path / "t.csv", ",", None, CsvOptions(), most) is plain
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2,3\n")
    assert with_line(plain, tmp_path / "t.csv", ",", None, CsvOptions()).facts["line"] == 3
