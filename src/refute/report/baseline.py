"""Violations that are known: a file that names them, so only new ones fail a check and those that are gone are seen.

A violation is named by the keys of its rows. Without a key it is named by the values that the rule reads, as often as
they clash: positions change as rows come and go.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from refute.detect.results import Witness
from refute.display import in_json
from refute.errors import DataError, OptionError
from refute.faults import missing_file, not_utf8, unreadable
from refute.language.addresses import local_path
from refute.language.conditions import InTable
from refute.language.render import render_condition
from refute.report.forms.as_json import plain_value
from refute.report.result import RuleResult, SinceBaseline
from refute.version import __version__
from refute.writing import write_text

if TYPE_CHECKING:
    from refute.report.report import Report

VERSION = 1
MOST = 100_000  # clashes of a rule that are named
_LOOKED_AT = 10_000  # violations among which one that is new is looked for, to show it


@dataclass(frozen=True, slots=True)
class KnownRule:
    """The clashes of a rule that are known, each by the JSON text of its rows, and how often it is there."""

    fingerprint: str
    clashes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was violated when the baseline was written, by the name of the rule."""

    key: tuple[str, ...]
    rules: Mapping[str, KnownRule]

    @classmethod
    def of(cls, report: Report) -> Baseline:
        """The baseline of a report: all that it has found is known from now on."""
        rules = {
            result.name: KnownRule(_fingerprint(result), _clashes(report, result))
            for result in report
            if not result.finding.holds
        }
        return cls(report.data.key, rules)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Baseline:
        """The baseline in a file; raises DataError where there is none."""
        try:
            text = local_path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise missing_file(str(path)) from None
        except OSError as error:
            raise unreadable(str(path), error.strerror or str(error)) from error
        except UnicodeDecodeError:
            raise not_utf8(str(path)) from None
        return cls.parsed(text, str(path))

    @classmethod
    def parsed(cls, text: str, path: str) -> Baseline:
        """The baseline of a text, which a message says is in `path`."""
        try:
            found = json.loads(text)
            if found["version"] != VERSION:
                raise unreadable(path, f"This version of Refute reads baselines of version {VERSION}.")
            rules = {
                str(name): KnownRule(
                    str(rule["fingerprint"]),
                    Counter({_text(clash["rows"]): int(clash.get("times", 1)) for clash in rule["clashes"]}),
                )
                for name, rule in found["rules"].items()
            }
            return cls(tuple(found["key"]), rules)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise unreadable(path, "It is not a baseline. Write one with --write-baseline.") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a file, whole or not at all."""
        write_text(local_path(path), self.text())

    def text(self) -> str:
        """The baseline as JSON, one clash a line, in an order that does not change."""
        lines = []
        for name, rule in sorted(self.rules.items()):
            clashes = ",\n".join(
                f'   {{"rows": {text}}}' if times == 1 else f'   {{"rows": {text}, "times": {times}}}'
                for text, times in sorted(rule.clashes.items())
            )
            head = f'{_text(name)}: {{"fingerprint": {_text(rule.fingerprint)}, "clashes": ['
            lines.append(f"  {head}\n{clashes}\n  ]}}" if clashes else f"  {head}]}}")
        key, rules = _text(list(self.key)), ",\n".join(lines)
        head = f' "version": {VERSION},\n "tool": "refute {__version__}",\n "key": {key},'
        return f'{{\n{head}\n "rules": {{\n{rules}\n }}\n}}\n'

    def compared(self, report: Report, result: RuleResult) -> SinceBaseline:
        """The violations of a rule now beside those that are known."""
        if report.data.key != self.key:
            then, now = (", ".join(key) or "none" for key in (self.key, report.data.key))
            raise DataError(
                f"The key of the baseline is {then}, and that of this check {now}. Use the same key, or write the "
                "baseline again.",
                key=self.key,
            )
        rule = self.rules.get(result.name)
        changed = rule is not None and rule.fingerprint != _fingerprint(result)
        known: Counter[str] = Counter(rule.clashes) if rule is not None and not changed else Counter()
        found: Counter[str] = Counter() if result.finding.holds else _clashes(report, result)
        both = found & known
        orders = 2 if result.rule.constraint.is_symmetric else 1
        return SinceBaseline(sum(both.values()), _listed(found - known), _listed(known - found), changed, orders)

    def judged(self, report: Report, result: RuleResult) -> RuleResult:
        """The result beside the baseline. If some of its violations are known, one that is new is its witness."""
        compared = self.compared(report, result)
        found = replace(result, compared=compared)
        if not (compared.known and compared.new):
            return found
        symmetric = result.rule.constraint.is_symmetric
        new = {_text(list(clash)) for clash in compared.new}
        names = (_name(rows, symmetric) for rows in _rows(report, result, _LOOKED_AT))
        place = next((place for place, name in enumerate(names) if name in new), None)
        if place is None:
            return found
        *_, clash = report.clashes(result, place + 1)
        ids = tuple(row.row_id for row in clash)
        named = ids if self.key else tuple(row.values for row in clash)
        if _name(named, symmetric) not in new:  # as no order of violations is promised
            return found
        values: dict[str, dict[str, Any] | None] = dict.fromkeys(result.values or ())
        values |= {row.role: _keyed(row.row_id, self.key) | row.values for row in clash}
        return replace(found, finding=replace(found.finding, witness=Witness(*ids)), values=values)


def _keyed(row_id: Any, key: Sequence[str]) -> dict[str, Any]:
    """The values of a key by column."""
    return row_id if isinstance(row_id, dict) else dict.fromkeys(key, row_id)


def _name(rows: Sequence[Any], symmetric: bool) -> str:
    """The JSON text that names a clash by its rows, or their values; in one order if both are the same clash."""
    texts = [_text(row) for row in rows]
    return f"[{', '.join(sorted(texts) if symmetric else texts)}]"


def _listed(clashes: Counter[str]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(json.loads(text)) for text in sorted(clashes.elements()))


def _clashes(report: Report, result: RuleResult) -> Counter[str]:
    """How often each clash of a rule is there, by its JSON text; those of a symmetric rule count once, not twice."""
    symmetric = result.rule.constraint.is_symmetric
    most = MOST * (2 if symmetric else 1)
    found: Counter[str] = Counter()
    for number, rows in enumerate(_rows(report, result, most + 1)):
        if number == most:
            raise OptionError(
                f"Rule {result.name!r} has more than {MOST:,} violations, too many to name in a baseline. Give it a "
                "tolerance instead.",
                rule=result.name,
                most=MOST,
            )
        found[_name(rows, symmetric)] += 1
    return Counter({text: times // 2 for text, times in found.items()}) if symmetric else found


def _rows(report: Report, result: RuleResult, most: int) -> Iterator[tuple[Any, ...]]:
    """What names the rows of each violation: their keys, else their values."""
    if report.data.key:
        yield from report.violations(result, most)
        return
    for clash in report.clashes(result, most):
        yield tuple(row.values for row in clash)


def _fingerprint(result: RuleResult) -> str:
    """What tells a rule from others that had its name: its constraint, the rows it is about, how it reads nulls."""
    rule, added = result.rule, result.rule.added
    parts = [rule.where]
    if isinstance(added, InTable):  # by the name of its file, wherever that lies today
        parts = [replace(added, path=added.path.rstrip("/").rpartition("/")[2]), rule.scope]
    said = " and ".join(render_condition(part) for part in parts if part is not None)
    where = f" where {said}" if said else ""
    return f"{rule.constraint.fingerprint} nulls {rule.nulls.value}{where}"


def _text(value: object) -> str:
    return in_json(json.dumps(plain_value(value), ensure_ascii=False, sort_keys=True))
