"""CSV files that are written in another way than most: delimiter, quote, encoding and spellings of null."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.errors import DataError, OptionError, SchemaError
from refute.relation import read_local
from refute.relation.read.csv.options import CsvOptions
from refute.relation.read.schema import Schema

CELL = st.text("ab;,|\t'\"\n é€ NA0", max_size=4)


@given(
    st.lists(st.tuples(CELL, CELL), max_size=5),
    st.sampled_from((",", ";", "|", "\t")),
    st.sampled_from(('"', "'")),
    st.sampled_from(("utf-8", "cp1252", "iso8859-15")),
    st.sampled_from(((), ("NA",), ("NA", "0", "a"))),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    delimiter: str,
    quote: str,
    encoding: str,
    nulls: tuple[str, ...],
) -> None:
    file = tmp_path_factory.mktemp("csv") / "t.csv"
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quotechar=quote, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("né", "b"), *rows])
    file.write_bytes(text.getvalue().encode(encoding))
    options = CsvOptions(delimiter=delimiter, quote=quote, encoding=encoding, null_values=nulls)
    found = read_local(file, None, options)
    assert found.column_names == ["né", "b"]
    wanted = [tuple(None if cell in nulls else cell for cell in row) for row in rows]
    if all(str(kind) == "string" for kind in found.schema.types):
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == wanted


def test_a_file_that_begins_with_the_mark_of_utf8_is_not_read_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,ort\n1,Köln\n", encoding="utf-8-sig")
    assert rf.count(str(tmp_path / "t.csv"), "unique(id)", engine="local") == 0
    for encoding in ("cp1252", "koi8-r"):
        with pytest.raises(DataError, match=r"begins with the mark of UTF-8, and .* was named. Leave the encoding out"):
            rf.count(str(tmp_path / "t.csv"), "unique(id)", engine="local", csv={"encoding": encoding})


def test_options_reach_every_question(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("ort;n\nKöln;1\nKöln;NA\n'a;b';2\n".encode("cp1252"))
    options: dict[str, Any] = {"delimiter": ";", "quote": "'", "encoding": "windows-1252", "null_values": "NA"}
    asked: dict[str, Any] = {"engine": "local", "csv": options}
    assert rf.count(str(file), "unique(ort)", **asked) == 2
    assert rf.check(str(file), {"rules": [{"name": "r", "not_null": "n"}]}, **asked).results[0].finding.violations == 1
    assert len(rf.discover(str(file), **asked).rules) > 0
    assert [str(kind) for kind in read_local(file, None, CsvOptions.of(options)).schema.types] == ["string", "int64"]


def test_without_quotes_a_quote_is_a_letter(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n"x,1\ny",2\n')
    assert read_local(tmp_path / "t.csv", None, CsvOptions(quote="")).to_pydict() == {"a": ['"x', 'y"'], "b": [1, 2]}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"id;zip\n1;a\n2;b\n", r"single column, 'id;zip': its cells seem to be separated by ';', not by ','"),
        (b"id;price\n1;2,5\n", r"separated by ';', not by ','. Pass csv=\{'delimiter': ';'\} \(--delimiter ';'\)"),
        (b"id\tzip\n1\ta\n", r"separated by a tab, not by ','. Pass csv=\{'delimiter': '\\\\t'\}"),
        ("id,ort\n1,Köln\n".encode("cp1252"), r"not UTF-8 text. It may be cp1252. Pass csv=\{'encoding': 'cp1252'\}"),
        (b"id,ort\n1,\x81\n", r"It may be latin-1"),
        ("id,ort\n1,x\n".encode("utf-16"), r"It seems to be UTF-16. Convert it first"),
    ],
)
def test_a_wrong_delimiter_or_encoding_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=problem):
        read_local(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("content", "used", "likely"),
    [
        ("id;zip;city\n1;1;Ulm\n", "|", "';', not by '|'"),
        ("id,zip,city\n1,1,Ulm\n", ";", "',', not by ';'"),
        ("a;b\n1;2\n", ",", "';', not by ','"),
        ("a\tb\n", ";", "a tab, not by ';'"),
        ('id;"price, net";city\n1;2,5;Ulm\n2;3,5;Bonn\n', None, "columns such as 'id;\"price': .* by ';', not by ','"),
        ('id;"price, net";city\n1;2;Ulm\n', ",", "by ';', not by ','"),
        ("id;price, net;city\n1;2;Ulm\n", None, "by ';', not by ','"),  # of which no row has two cells
        ("user:shell\nroot:sh\n", None, "by ':', not by ','"),
        ("'a|b'|c\n1|2\n", ",", r"by '\|', not by ','"),
    ],
)
def test_a_wrong_delimiter_is_named_whether_it_was_given_or_not(
    tmp_path: Path, content: str, used: str | None, likely: str
) -> None:
    (tmp_path / "t.csv").write_text(content)
    options = CsvOptions(delimiter=used, quote="'" if "'" in content else '"')
    with pytest.raises(DataError, match=likely):
        read_local(tmp_path / "t.csv", None, options)


def test_a_wrong_delimiter_is_named_before_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,zip,city\n1,2,a\n", encoding="utf-8")
    for key in ("id", None):
        with pytest.raises(DataError, match=r"'id,zip,city': .* separated by ',', not by ';'. Pass csv="):
            rf.check(tmp_path / "t.csv", "zip -> city", key=key, csv={"delimiter": ";"})
    with pytest.raises(SchemaError) as caught:
        rf.check(pa.table({"id,zip": [1]}), "unique(id)")
    assert "separated" not in str(caught.value)  # it was never CSV


@pytest.mark.parametrize(
    ("content", "used"),
    [
        ("at (hh:mm)\n12:30\n", None),  # as much as a colon may stand in a name
        ("first and last name\nAda B C Lovelace\n", None),
        ('"size 5"", red",shade\n1,2\n', None),
        ("owner's name,city;x\n1,2\n", None),
        ('a,"b;c"\n1,"x\n2;y"\n', None),
        ("a;b,c\n1,2\n", None),
        ("a,b\n1;2,3\n4;5,6\n", ","),
        ('a:b\n"two\nlines"\n', None),
        ('a;b\n"x\n1;2"\n3\n', None),
        ('p|q\n"x\ny"\n""\n', ";"),
    ],
)
def test_a_file_that_another_sign_could_cut_is_believed(tmp_path: Path, content: str, used: str | None) -> None:
    (tmp_path / "t.csv").write_text(content)
    wanted = next(csv.reader(io.StringIO(content)))
    assert read_local(tmp_path / "t.csv", None, CsvOptions(delimiter=used)).column_names == wanted


def test_a_row_of_several_lines_shows_what_separates_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a;b\n"two\nlines";2\n')
    with pytest.raises(DataError, match="separated by ';', not by ','"):
        read_local(tmp_path / "t.csv", None, CsvOptions())


def test_lines_within_a_cell_are_no_rows_that_doubt_the_delimiter(tmp_path: Path) -> None:
    rows = "".join(f'{k};"12 Main St, Apt {k}\nTown, CO";{k}\n' for k in range(1, 4))
    (tmp_path / "t.csv").write_text(f"id;Address (street, city);zip\n{rows}")
    found = read_local(tmp_path / "t.csv", None, CsvOptions(delimiter=";"))
    assert found.column_names == ["id", "Address (street, city)", "zip"]
    assert found.column("zip").to_pylist() == [1, 2, 3]


def test_who_says_that_a_file_has_one_column_is_believed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    for options in (CsvOptions(), CsvOptions(delimiter=",")):
        assert read_local(tmp_path / "t.csv", Schema.of("`a;b` string"), options).to_pydict() == {"a;b": ["1;2"]}
        assert read_local(tmp_path / "t.csv", Schema.of("a string", header=False), options).column_names == ["a"]
    for one in ("a|b\nx\ny\n", '"a|b"\n"x|y"\n'):  # a name with a sign that rows do not have, or have in quotes
        (tmp_path / "one.csv").write_text(one)
        assert read_local(tmp_path / "one.csv").column_names == ["a|b"]
    (tmp_path / "rows.csv").write_text("1;a\n2;b\n")
    with pytest.raises(DataError, match="has rows such as '1;a': its cells seem to be separated by ';', not by ','"):
        read_local(tmp_path / "rows.csv", Schema.of("x bigint, y string", header=False))


@pytest.mark.parametrize(
    ("content", "options", "wanted"),
    [
        (b"a;b\n1;2\n", {}, {"a;b": ["1;2"]}),
        (b"key:value\na:b\n", {"delimiter": ","}, {"key:value": ["a:b"]}),
        ("a\nВ»\n".encode("cp1251"), {"encoding": "cp1251"}, {"a": ["В»"]}),
        ("a\nÃ©\n".encode("latin-1"), {"encoding": "latin-1"}, {"a": ["Ã©"]}),
        (b"\xef\xbb\xbfid\n1\n", {"encoding": "cp1252"}, {"ï»¿id": [1]}),
    ],
)
def test_options_are_not_doubted_where_they_are_said_to_be_as_given(
    tmp_path: Path, content: bytes, options: Any, wanted: Any
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    asked: dict[str, Any] = {"engine": "local", "csv": options}
    with pytest.raises(DataError, match=r"If the file is right, add 'as_given': True to csv= \(--csv-as-given\)"):
        rf.propose(str(tmp_path / "t.csv"), **asked)
    assert read_local(tmp_path / "t.csv", None, CsvOptions(as_given=True, **options)).to_pydict() == wanted


def test_without_a_header_too_options_may_be_as_given(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1;a\n")
    schema = Schema.of("x string, y string", header=False)
    with pytest.raises(DataError, match="its cells seem to be separated by ';'"):
        read_local(tmp_path / "t.csv", schema)
    with pytest.raises(DataError, match=r"t\.csv:1: .*'1;a'"):
        read_local(tmp_path / "t.csv", schema, CsvOptions(as_given=True))


WORDS = ("Köln", "Łódź", "Škoda", "Москва", "Ωμέγα", "東京", "naïve – yes", "5 €", "✓ 😀 Á", "Año")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp1250", "koi8-r"])
def test_utf8_that_is_read_as_another_encoding_is_named(tmp_path: Path, word: str, encoding: str) -> None:
    (tmp_path / "t.csv").write_text(f"id,city\n1,{word}\n2,Ulm\n", encoding="utf-8")
    named = CsvOptions(encoding=encoding).encoding
    with pytest.raises(DataError, match=f"is UTF-8, and {named} was named, which makes '.*' of '.*'. Leave") as caught:
        read_local(tmp_path / "t.csv", None, CsvOptions(encoding=encoding))
    shown = [ast.literal_eval(text) for _, text in caught.value.quoted]
    assert shown[1] in word
    assert shown[0] == shown[1].encode().decode(encoding, "replace")
    assert not set(word) & set(str(caught.value.hiding(lambda _: True, "[hidden]"))) - set(map(chr, range(128)))


def test_utf8_is_seen_wherever_its_letters_are(tmp_path: Path) -> None:
    latin = CsvOptions(encoding="latin-1")
    for ahead in (0, (1 << 20) - 1, 1 << 20):  # where a letter lies across two pieces, too
        (tmp_path / "t.csv").write_bytes(b"a\n" + b"x" * (ahead - 2) + "ö\ny\n".encode())
        with pytest.raises(DataError, match="is UTF-8"):
            read_local(tmp_path / "t.csv", None, latin)
        (tmp_path / "t.csv").write_bytes(b"a\n" + b"x" * (ahead - 2) + "ö\ny\n".encode() + b"\xf6\n")
        assert len(read_local(tmp_path / "t.csv", None, latin)) == 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Köln, Ürümqi; größer", "latin-1"),
        ("« déjà » … l’été", "cp1252"),
        ("NESCAFÉ®", "cp1252"),  # two bytes that UTF-8 has as well
        ("»MENÜ«", "cp1252"),
        ("CAFÉ’S", "cp1252"),
        ("В–", "cp1251"),  # of which UTF-8 would make a sign that no text has
        ("ARCHIV Ä”", "cp1252"),
        ("дії", "cp1251"),
        ("Пётр и её «ёж»", "cp1251"),
        ("тип", "cp866"),
        ("Złoty Łódź PÓŁ", "cp1250"),
        ("ещё", "koi8-r"),
        ("plain", "cp1252"),
    ],
)
def test_a_file_in_its_own_encoding_is_read(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(f"id|a\n1|{text}\n".encode(encoding))
    found = read_local(tmp_path / "t.csv", None, CsvOptions(encoding=encoding, delimiter="|"))
    assert found["a"].to_pylist() == [text]


@pytest.mark.parametrize("header", ["a,b", '"a\n\nb",c', '"a\r\nb",c', "\x0b,\u2028"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("above", [0, 1, 3])
def test_empty_lines_above_a_header_are_no_rows(tmp_path: Path, header: str, end: str, above: int) -> None:
    (tmp_path / "t.csv").write_bytes((above * end + header + end + end + f"1,2{end}").encode())
    names = next(csv.reader(io.StringIO(header, newline="")))
    for schema in (None, ", ".join(f"`{name}` bigint" for name in names).replace("\r\n", "\n")):
        found = read_local(tmp_path / "t.csv", None if schema is None else Schema.of(schema))
        assert found.column_names == [name.replace("\r\n", "\n") for name in names]
        assert found.to_pylist() == [dict(zip(found.column_names, (1, 2), strict=True))]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("named", ["utf-8", "cp1252"])
def test_letters_of_several_bytes_are_named_with_how_to_convert_them(tmp_path: Path, encoding: str, named: str) -> None:
    (tmp_path / "t.csv").write_bytes("a,b\n1,2\n".encode(encoding))
    likely = encoding.replace("-le", "le").replace("-be", "be")
    with pytest.raises(DataError, match=rf"seems to be {likely.upper()}\. .* iconv -f {likely} -t utf-8"):
        read_local(tmp_path / "t.csv", None, CsvOptions(encoding=named))


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_file_that_is_not_text_is_named_for_what_it_is(tmp_path: Path, encoding: str) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "parquet.csv")
    (tmp_path / "gzip.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with zipfile.ZipFile(tmp_path / "zip.csv", "w") as archive:
        archive.writestr("a", "b")
    for kind in ("Parquet", "gzip", "zip"):
        with pytest.raises(DataError, match=f"It is not text, but seems to be a {kind} "):
            read_local(tmp_path / f"{kind.lower()}.csv", None, CsvOptions(encoding=encoding))
    (tmp_path / "t.csv").write_text("PAR1,ORC\n1,2\n")
    assert read_local(tmp_path / "t.csv", None, CsvOptions(encoding=encoding)).column_names == ["PAR1", "ORC"]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_local(tmp_path / "t.csv.gz", None, CsvOptions(encoding=encoding)).column_names == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"delimeter": ";"}, "csv= has no option 'delimeter'. Did you mean 'delimiter'"),
        ({"zzz": ";"}, r"csv= has no option 'zzz'\. Its options are delimiter, quote, encoding, "),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"delimiter": '"'}, "delimiter must be a character that is not the quote"),
        ({"quote": "ab"}, "quote must be one character, such as '\"'"),
        ({"encoding": "utf-9"}, "There is no encoding 'utf-9'"),
        ({"encoding": "utf-16"}, "Files in utf-16 cannot be read"),
        ({"encoding": "gbk"}, "Files in gbk cannot be read"),
        ({"encoding": "utf-7"}, "Files in utf-7 cannot be read"),
        ({"encoding": "idna"}, "Files in idna cannot be read"),
        ({"encoding": "iso2022_jp"}, "Files in iso2022_jp cannot be read"),
        ({"encoding": "unicode_escape"}, "Files in unicode_escape cannot be read"),
        ({"encoding": "base64"}, "There is no encoding 'base64'"),
        ({"null_values": [1]}, "null_values must be a text or a list of them"),
        (";", "csv must be a mapping"),
    ],
)
def test_wrong_options_are_explained(given: Any, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        CsvOptions.of(given)


def test_options_are_for_files_and_for_csv(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="csv= applies to files only"):
        rf.count(pa.table({"a": [1]}), "unique(a)", csv={"quote": "'"})
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(
        OptionError, match=r"is JSON lines, and csv= says .*\. Leave it out \(--delimiter and the like\)\."
    ):
        rf.count(str(tmp_path / "t.jsonl"), "unique(a)", engine="local", csv={"delimiter": ";"})
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OptionError, match="quote must be a character that is not the delimiter, not ','"):
        rf.count(str(tmp_path / "t.csv"), "unique(a)", engine="local", csv={"quote": ","})


def test_an_empty_cell_is_null_and_one_in_quotes_only_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('id,a\n1,""\n2,\n3,x\n')
    assert read_local(tmp_path / "t.csv")["a"].to_pylist() == ["", None, "x"]
    assert read_local(tmp_path / "t.csv", None, CsvOptions(null_values=("",)))["a"].to_pylist() == [None, None, "x"]
