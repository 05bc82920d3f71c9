"""The report as a table: one row per rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from refute.report.report import Report
    from refute.report.result import RuleResult

_COLUMNS: Sequence[tuple[str, pa.DataType, Callable[[RuleResult], object]]] = (
    ("rule", pa.string(), lambda one: one.name),
    ("state", pa.string(), lambda one: one.state.value),
    ("severity", pa.string(), lambda one: one.rule.severity.value),
    ("holds", pa.bool_(), lambda one: one.finding.holds),
    ("passed", pa.bool_(), lambda one: one.passed),
    ("violations", pa.decimal128(38), lambda one: one.finding.violations),
    ("rows", pa.int64(), lambda one: one.finding.rows),
    ("skipped_nulls", pa.int64(), lambda one: one.finding.skipped_nulls),
    ("new", pa.int64(), lambda one: None if one.compared is None else one.compared.counts["new"]),
    ("healed", pa.int64(), lambda one: None if one.compared is None else one.compared.counts["healed"]),
    ("sentence", pa.string(), lambda one: one.sentence),
    ("constraint", pa.string(), lambda one: one.rule.text),
    ("tags", pa.list_(pa.string()), lambda one: list(one.rule.tags)),
    ("seconds", pa.float64(), lambda one: one.seconds),
)
_LARGEST = (1 << 63) - 1


def table_of(report: Report) -> pa.Table:
    """One row per rule; violations are integers of 64 bits unless one of them has more."""
    columns = {}
    for name, kind, read in _COLUMNS:
        values = [read(result) for result in report]
        if name == "violations" and all(value is None or value <= _LARGEST for value in values):  # type: ignore[operator]
            kind = pa.int64()
        columns[name] = pa.array(values, kind)
    return pa.table(columns)
