"""What `refute watch` says of a batch: a line for people, or one of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from refute.display import in_json, in_one_line
from refute.display.plurals import plural
from refute.watching.records import DRIVER

if TYPE_CHECKING:
    from refute.language.rulebook import Rule
    from refute.watching.records import BatchRecord


def line(record: BatchRecord) -> str:
    """`batch 3: 1,000 rows in 0.12 s; zip_fixes_city: 2 new, 0 resolved, 14 open; rate: holds`.

    Of a change of rules: `rules changed after batch 3, in 0.12 s; zip_fixes_city: 2 new, 0 resolved, 2 open`.
    """
    name = "bootstrap" if record.batch < 0 else f"batch {record.batch:,}"
    where = f" on the {record.where}" if record.where != DRIVER else ""
    what = f"rules changed after {name}," if record.rule_change else f"{name}: {plural(record.rows, 'row')}"
    parts = [f"{what} in {record.seconds:.2f} s{where}"]
    for rule in record.rules:
        counts = f"{rule.added:,} new, {rule.resolved:,} resolved, {rule.open:,} open"
        quiet = not (rule.added or rule.resolved or rule.open)
        parts.append(f"{in_one_line(rule.name)}: {'holds' if quiet else counts}")
    return "; ".join(parts)


def nothing_new(counts: Mapping[str, int]) -> str:
    """`nothing new; zip_fixes_city: 14 open; rate: holds`."""
    open_ = (f"{in_one_line(name)}: {f'{count:,} open' if count else 'holds'}" for name, count in counts.items())
    return "; ".join(["nothing new", *open_])


def json_line(record: BatchRecord) -> str:
    """The same for machines."""
    return in_json(json.dumps(record.to_dict(), ensure_ascii=False))


def states(rules: Sequence[Rule], record: BatchRecord) -> dict[str, dict[str, Any]]:
    """The state of each rule after a batch, as a webhook gets it; without a severity for one that is dropped later."""
    severity = {rule.name: rule.severity.value for rule in rules}
    return {
        one.name: {"state": "broken" if one.broken else "ok", "severity": severity.get(one.name), "open": one.open}
        for one in record.rules
        if one.name in severity or one.open  # else it is dropped with this record
    }
