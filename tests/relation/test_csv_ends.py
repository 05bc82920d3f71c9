"""A quote that nothing closes takes all rows behind it into one cell: it is refused, with the line where it opens."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.errors import DataError
from refute.relation.read.csv.ends import refuse_unclosed
from refute.relation.read.csv.options import CsvOptions
from refute.relation.read.files import read_local

pytestmark = pytest.mark.filterwarnings("ignore::refute.errors.InferredTypesWarning")

UNCLOSED = {
    'a,b\n1,x\n2,"y\n3,z\n': 3,
    'a,b\n1,"x\ny"\n2,"y\n3,z': 4,
    'a,b\r\n1,"x\r\ny"\r\n2,"k\r\n3,v\r\n': 4,
    'a,b\n1,"x\n""\n': 2,
    'a\n1\n"2\n3\n': 3,
    'a,b\n1,5" pipe\n2,"x\n3,7" pipe\n4,"y\n5,z\n': 5,
    'a,b\n1,x\n"2,y\n3,z\n': 3,  # the row then lacks cells
    'a,b,c\r\n"1\r\n1",x,"\r\n"\r\n"2\r\n2","y,\r\n3,z,\r\n': 6,
    'a,b\n1,x\n"2,y\n' + "3,z\n" * 40_000: 3,  # a cell that is longer than Python's reader takes
}
CLOSED = ('a,b\n1,"x\ny"\n', 'a,b\n1,"x\ny"', 'a,b\n1,"\n"\n', 'a,b\n1,"\n\n"\n\n', 'a,b\n1,"x\n"""\n', 'a,b\n1,5"\n')


@pytest.mark.parametrize("text", UNCLOSED)
@pytest.mark.parametrize("packed", [False, True])
def test_the_line_of_an_unclosed_quote_is_named(tmp_path: Path, text: str, packed: bool) -> None:
    file = tmp_path / ("data.csv.gz" if packed else "data.csv")
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(DataError, match="never closed") as caught:
        rf.count(str(file), "unique(a)", engine="local")
    assert caught.value.facts["line"] == UNCLOSED[text]
    assert f"{file}:{UNCLOSED[text]}: " in str(caught.value)


@pytest.mark.parametrize("text", CLOSED)
def test_line_breaks_in_closed_quotes_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "data.csv").write_text(text)
    assert len(read_local(tmp_path / "data.csv")) == 1


def test_a_row_that_lacks_cells_before_an_unclosed_quote_is_named_itself(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('a,b\n1,"x\ny"\n2\n3,z\n"4,z\n')
    with pytest.raises(DataError, match=r"data\.csv:4: This row has 1 cell instead of 2: '2'"):
        rf.count(str(tmp_path / "data.csv"), "unique(a)", engine="local")


def test_without_quotes_nothing_is_unclosed(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('a,b\n1,x\n2,"y\n3,z\n')
    assert rf.count(str(tmp_path / "data.csv"), "unique(b)", engine="local", csv={"quote": None}) == 0


@given(cell=st.text('"ab\n\r', min_size=1, max_size=6), end=st.sampled_from(["", "\n", "\r\n"]))
def test_what_is_closed_is_never_refused(tmp_path_factory: pytest.TempPathFactory, cell: str, end: str) -> None:
    file = tmp_path_factory.getbasetemp() / "closed.csv"
    quoted = '"' + cell.replace('"', '""') + '"'
    file.write_bytes(f"a,b\n1,{quoted}{end}".encode())
    refuse_unclosed(file, cell, CsvOptions())
    file.write_bytes(f"a,b\n1,{quoted[:-1]}".encode())
    if "\n" in cell or "\r" in cell:
        with pytest.raises(DataError, match="never closed"):
            refuse_unclosed(file, cell, CsvOptions())


@pytest.mark.parametrize("text", ['a,b\n1,"x"\n"y",', 'a,b\n"1",', 'a,b,c\n,,""\n1,"x",'])
@pytest.mark.parametrize("end", ["", "\n"])
def test_an_empty_cell_at_the_end_is_null_without_a_line_break_too(tmp_path: Path, text: str, end: str) -> None:
    (tmp_path / "data.csv").write_text(text + end)
    (tmp_path / "quoted.csv").write_text(text + '""' + end)
    assert read_local(tmp_path / "data.csv").column(-1)[-1].as_py() is None
    assert read_local(tmp_path / "quoted.csv").column(-1)[-1].as_py() == ""
