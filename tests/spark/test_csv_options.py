"""CSV files that are written in another way than most: Spark reads what one process reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.errors import DataError
from refute.relation import read_local
from refute.relation.read.csv.options import CsvOptions
from refute.relation.read.schema import Schema
from refute.spark.source.opening import open_source

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::refute.errors.InferredTypesWarning")]

FILES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "signs": (b"a;b;c\n1;'x;y';2020-01-01\n2;'it''s';\n3;'';2020-01-02\n", {"delimiter": ";", "quote": "'"}),
    "letters": ('ört,n\nKöln,1\n€,2\n"a\nb",3\n'.encode("cp1252"), {"encoding": "cp1252"}),
    "cyrillic": ("город|n\nМосква|1\nnull|\n".encode("cp1251"), {"encoding": "cp1251", "delimiter": "|"}),
    "empty": (b'a,b\n1,""\n"",\n', {"null_values": [""]}),
    "nulls": (b'a,b\n1,NA\nNA,"NA"\nNULL,x\n,""\n', {"null_values": ["NA", "NULL"]}),
    "no quotes": (b'a\tb\n"x\t1\ny"\t2\n', {"delimiter": "\\t", "quote": None}),
    "backslash": (b"a\\b\n1\\x\n2\\y\n", {"delimiter": "\\"}),
    "the end": (b'a,b\n1,"x"\n"y",', {}),
    "one column": (b"key:value\na:b\n", {"as_given": True}),
    "by chance": ("a,b\nВ»,1\n".encode("cp1251"), {"encoding": "cp1251", "as_given": True}),
    "empty lines above": (b"\n\na,b\n1,2\n\n", {}),
    "a broken name": (b'\r\n"a\r\nb",c\r\n1,2\r\n', {}),
    "both": (b"a,b\nNA,1\n3,\n", {"null_values": "NA", "encoding": "latin-1"}),
}


@pytest.mark.parametrize("name", FILES)
def test_spark_reads_what_one_process_reads(spark: SparkSession, tmp_path: Path, name: str) -> None:
    content, given = FILES[name]
    (tmp_path / "t.csv").write_bytes(content)
    options = CsvOptions.of(given)
    here = read_local(tmp_path / "t.csv", None, options)
    source = open_source(str(tmp_path / "t.csv"), session=spark, csv=options)
    there = source.identified().orderBy("__row").drop("__row").toArrow()
    assert there.cast(here.schema).to_pydict() == here.to_pydict()
    texts = Schema.of(", ".join(f"`{column}` string" for column in here.column_names))
    typed = open_source(str(tmp_path / "t.csv"), session=spark, schema=texts, csv=options, split_bytes=1).frame
    wanted = read_local(tmp_path / "t.csv", texts, options).to_pylist()
    assert sorted(map(repr, typed.toArrow().to_pylist())) == sorted(map(repr, wanted))


@pytest.mark.parametrize(
    ("content", "given"),
    [
        (b"id;zip\n1;a\n", None),
        ("id,ort\n1,Köln\n".encode("cp1252"), None),
        (b"id,ort\n1,\x81\n", {"encoding": "cp1252"}),
        (b"id,ort\n1,\x81\n", None),
        (b"id;ort\n1\n", {"delimiter": ";"}),
        (b"id\\ort\n1\n", {"delimiter": "\\"}),
        (b"id;ort\n1;2\n", {"delimiter": "|"}),
        ("id,ort\n1,Köln\n".encode(), {"encoding": "latin-1"}),
        ("id,ort\n1,Ámos\n".encode(), {"encoding": "cp1252"}),  # which has no letter for one of these bytes
        (b"\xef\xbb\xbfid\n1\n", {"encoding": "cp1252"}),
        (b"id\n\x9d\n", {"encoding": "cp1252"}),
        ("id\nÁ\n".encode(), {"encoding": "cp1252", "as_given": True}),
        (b"key:value\na:b\n", {"delimiter": ","}),
        (b"\x1f\x8b\x08\x00id\n1\n", None),
    ],
)
def test_both_engines_refuse_in_the_same_words(
    spark: SparkSession, tmp_path: Path, content: bytes, given: dict[str, Any] | None
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    said = []
    for engine in ("local", "spark"):
        with pytest.raises(DataError) as caught:
            rf.check(str(tmp_path / "t.csv"), "unique(id)", engine=engine, csv=given)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("content", ['a,b\n1,"x"y"\n', 'a,b\n1,"z"\n2,"x"y""\n', "a,b\n'x'y,'z'\n", 'a,b\n1,"5" 2"\n'])
@pytest.mark.parametrize("options", [{}, {"schema": "a bigint, b string"}])
def test_text_behind_a_closing_quote_is_refused_by_spark(
    spark: SparkSession, tmp_path: Path, content: str, options: Any
) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataError, match="a cell in quotes with more text behind the closing one") as caught:
        rf.count(str(tmp_path / "t.csv"), "unique(a)", engine="spark", csv={"quote": content[-2]}, **options)
    assert caught.value.facts["path"] == str(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('a,b\n1,x"y\n2,"x""y"\n3,"""x"\n')
    assert rf.count(str(tmp_path / "t.csv"), "unique(b)", engine="spark", **options) == 2


def test_a_file_that_spark_cannot_read_is_named_as_it_was_given(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text('a,b\n"x"y,2\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"^'t\.csv' has a cell in quotes") as caught:
        rf.count("t.csv", "unique(a)", engine="spark")
    assert caught.value.facts["path"] == "t.csv"


@pytest.mark.parametrize("options", [{}, {"schema": "a bigint, b string"}])
def test_an_unclosed_quote_is_refused_with_its_line(spark: SparkSession, tmp_path: Path, options: Any) -> None:
    closed, unclosed = 'a,b\n1,"x\ny"\n2,z\n', 'a,b\n1,"x\ny"\n2,"z\n3,w\n'
    (tmp_path / "1.csv").write_text(closed)
    assert rf.count(str(tmp_path / "*.csv"), "unique(b)", engine="spark", **options) == 0
    (tmp_path / "2.csv").write_text(unclosed)
    with pytest.raises(DataError, match="never closed") as caught:
        rf.count(str(tmp_path / "*.csv"), "unique(b)", engine="spark", **options)
    assert (caught.value.facts["path"], caught.value.facts["line"]) == (str(tmp_path / "2.csv"), 4)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('a,b\n1,"x\n"""\n', None),  # a cell whose last line is a quote
        ('a,b\n1,"x\n\n"\n\n', None),
        ('a,b\n1,"x\ny"\n2,"z\n3,""w\n', 4),
        ('a,b\r\n1,"x\r\n', 2),
        ('a,b\n1,"x\n' + "k" * 12_000 + '""y', 2),
    ],
)
def test_an_unclosed_quote_is_refused_in_files_that_only_spark_sees(
    spark: SparkSession, tmp_path: Path, content: str, line: int | None
) -> None:
    mount = f"fs.viewfs.mounttable.{tmp_path.name.replace('_', '-')}.link./in"
    place = f"viewfs://{mount.split('.')[3]}/in"
    (tmp_path / "1.csv").write_text('a,b\n0,"x\ny"\n')
    (tmp_path / "2.csv").write_bytes(content.encode())
    spark.conf.set(mount, tmp_path.as_uri())
    try:
        if line is None:
            assert rf.count(f"{place}/*.csv", "unique(b)", engine="spark") == 0
            return
        with pytest.raises(DataError, match="never closed") as caught:
            rf.count(f"{place}/*.csv", "unique(b)", engine="spark")
        assert (caught.value.facts["path"], caught.value.facts["line"]) == (f"{place}/2.csv", line)
    finally:
        spark.conf.unset(mount)


def test_what_a_file_seems_to_be_is_named_where_only_spark_sees_it(spark: SparkSession, tmp_path: Path) -> None:
    mount = f"fs.viewfs.mounttable.{tmp_path.name.replace('_', '-')}.link./in"
    place = f"viewfs://{mount.split('.')[3]}/in"
    (tmp_path / "1.csv").write_bytes("id,ort\n1,Köln\n".encode("cp1252"))
    (tmp_path / "2.csv").write_bytes("id,ort\n2,Köln\n".encode())
    (tmp_path / "3.csv").write_bytes(b"PK\x03\x04\0\0\nx\n")
    (tmp_path / "4.csv").write_bytes(b"\nid;ort\n1;2\n")
    spark.conf.set(mount, tmp_path.as_uri())
    try:
        asked: dict[str, Any] = {"engine": "spark", "csv": {"encoding": "cp1252"}}
        assert rf.count(f"{place}/1.csv", "row(ort = 'Köln')", **asked) == 0
        with pytest.raises(DataError, match=r"2\.csv' is UTF-8, and cp1252 was named, which makes 'KÃ¶ln' of 'Köln'"):
            rf.count(f"{place}/[12].csv", "unique(id)", **asked)
        insisted = {**asked, "csv": {**asked["csv"], "as_given": True}}
        assert rf.count(f"{place}/2.csv", "row(ort = 'KÃ¶ln')", **insisted) == 0
        assert rf.count(f"{place}/4.csv", "unique(`id;ort`)", engine="spark", csv={"as_given": True}) == 0
        with pytest.raises(DataError, match="seems to be a zip archive"):
            rf.count(f"{place}/3.csv", "unique(id)", **asked)
        for given in (None, {"delimiter": "|"}):
            with pytest.raises(DataError, match="separated by ';', not by"):
                rf.count(f"{place}/4.csv", "unique(id)", engine="spark", csv=given)
        named: dict[str, Any] = {"engine": "spark", "schema": "`id;ort` string"}
        assert rf.count(f"{place}/4.csv", "unique(`id;ort`)", **named) == 0
        assert rf.count(str(tmp_path / "4.csv"), "unique(`id;ort`)", **named) == 0
    finally:
        spark.conf.unset(mount)


@pytest.mark.parametrize("content", [b"a,b\n1,x\r\n2,x\n", b"a,b\n1,\r\n2,\n", b"a,b\r\n1,x\n2,x\r\n3,x\n"])
@pytest.mark.parametrize("options", [{}, {"schema": "a bigint, b string"}])
def test_lines_that_end_in_two_ways_are_refused(
    spark: SparkSession, tmp_path: Path, content: bytes, options: Any
) -> None:
    (tmp_path / "1.csv").write_bytes(b'a,b\r\n1,"x\r"\r\n2,"x\r"\r\n')
    (tmp_path / "2.csv").write_bytes(b'a,b\n1,"x\r"\n2,"x\r"\n')
    for file in ("1.csv", "2.csv"):
        assert rf.count(str(tmp_path / file), "unique(b)", engine="spark", **options) == 2
    (tmp_path / "3.csv").write_bytes(content)
    with pytest.raises(DataError, match="lines that end in LF and others that end in CR LF") as caught:
        rf.count(str(tmp_path / "*.csv"), "unique(b)", engine="spark", **options)
    assert caught.value.facts["path"] == str(tmp_path / "3.csv")


def test_a_file_with_a_header_alone_satisfies_every_rule(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    rules = ["row(a < 5)", "row(a + 1 = b)", "not (s.a < t.a and s.b > t.b)", "a -> b", "row(b = 'x')"]
    for engine in ("local", "spark"):
        report = rf.check(str(tmp_path / "t.csv"), rules, engine=engine)
        assert [one.finding.violations for one in report.results] == [0] * len(rules)
        assert report.ok
        assert len(rf.violations(str(tmp_path / "t.csv"), rules[2], engine=engine).to_arrow()) == 0
