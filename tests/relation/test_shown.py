"""Values that Python cannot hold are shown as text, wherever rows are shown."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.relation.shown import date_text, shown

DAYS = (dt.date.max - dt.date(1970, 1, 1)).days, (dt.date.min - dt.date(1970, 1, 1)).days


def stored(number: int, kind: pa.DataType) -> pa.Array:
    """Two rows of a type, by the integer that Arrow stores."""
    return pa.array([number, number], pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


BEYOND = [
    (stored(2**31 - 1, pa.date32()), "+5881580-07-11"),
    (stored(-(2**31), pa.date32()), "-5877641-06-23"),
    (stored(DAYS[0] + 1, pa.date32()), "+10000-01-01"),
    (stored(DAYS[1] - 1, pa.date32()), "0000-12-31"),
    (stored(86_400_000 * 10**10, pa.date64()), "+27381040-01-27"),
    (stored(2**62, pa.timestamp("s")), "+146138514283-06-19 07:45:04"),
    (stored(2**62, pa.timestamp("us")), "+148108-07-06 14:00:27.387904"),
    (stored(2**62, pa.timestamp("us", "UTC")), "+148108-07-06 14:00:27.387904+00:00"),
    (stored(1, pa.timestamp("us", "Nowhere/Else")), "1970-01-01 00:00:00.000001+00:00"),
    (stored(253402300799999999, pa.timestamp("us", "Asia/Tokyo")), "9999-12-31 23:59:59.999999+00:00"),
    (stored(2**62, pa.duration("s")), "53375995583650 days, 07:45:04"),
    (stored(1, pa.time64("ns")), "00:00:00.000000001"),
    (pa.ListArray.from_arrays([0, 1, 2], stored(2**31 - 1, pa.date32())), ["+5881580-07-11"]),
    (pa.StructArray.from_arrays([stored(2**31 - 1, pa.date32())], ["x"]), {"x": "+5881580-07-11"}),
    (stored(2**31 - 1, pa.date32()).dictionary_encode(), "+5881580-07-11"),
    (pa.array([b"\xff", b"\xff"]).view(pa.string()), "\ufffd"),
]


@given(st.integers(DAYS[1], DAYS[0]))
def test_days_that_python_knows_are_written_as_python_writes_them(day: int) -> None:
    assert date_text(day) == (dt.date(1970, 1, 1) + dt.timedelta(day)).isoformat()


@pytest.mark.parametrize(("column", "text"), BEYOND, ids=lambda one: str(getattr(one, "type", one)))
def test_a_row_with_such_a_value_is_shown_whichever_rule_it_breaks(column: pa.Array, text: Any) -> None:
    table = pa.table({"a": [1, 1], "odd": column})
    report = rf.check(table, "unique(a)")
    values = report.results[0].values
    assert values is not None
    assert values["s"] == {"a": 1, "odd": text}
    assert json.loads(report.to_json())["rules"][0]["witness"]["t"] == {"a": 1, "odd": text}
    assert str(text) in report.to_junit()


@pytest.mark.parametrize(("column", "text"), [one for one in BEYOND if isinstance(one[1], str)][:-1])
def test_rules_read_and_keys_name_such_values(column: pa.Array, text: str) -> None:
    report = rf.check(pa.table({"odd": column}), "unique(odd)")
    assert report.results[0].finding.violations == 2
    assert text in report.to_html()
    assert text[:20] in str(report)
    one = pa.table({"odd": column.slice(0, 1), "a": [1]})
    assert rf.verify(one, "row(a > 1)", key="odd").witness == (text, None)
    assert list(rf.violations(one, "row(a > 1)", key="odd")) == [(text,)]
    with pytest.raises(rf.errors.DataError, match="not unique"):
        rf.verify(pa.table({"odd": column}), "unique(odd)", key="odd")


def test_other_values_are_those_of_python() -> None:
    for value in (1, "x", 1.5, True, None, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 2, 3), dt.timedelta(3), [1]):
        assert shown(pa.scalar(value)) == value
    assert shown(pa.scalar(3_000, pa.time64("ns"))) == dt.time(0, 0, 0, 3)
