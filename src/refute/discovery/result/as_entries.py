"""Rules of a complete discovery as entries of a rule file, each made as it is asked for: there may be thousands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from refute.display.plurals import plural
from refute.language.parsing.parser import parse_condition
from refute.language.rulebook import Entry, Limit, Rule, Status, Tolerance, suggest_name
from refute.language.rulebook.commented import Remarked
from refute.language.rulebook.naming import DistinctNames

if TYPE_CHECKING:
    from refute.discovery.result.discovery import CompleteDiscovery, Discovered

Draft = tuple["Discovered", Rule, Entry]


def drafts(found: CompleteDiscovery, n: int | None, *, as_ranked: bool = False) -> Iterator[Draft]:
    """The n best rules, or all and then those that few pairs break.

    Those over the same columns stand together, unless they are wanted `as_ranked`. Each has the tolerance that lets
    today's rows pass, and no more.
    """
    chosen = found.each(n) if as_ranked else found.grouped(n)
    names = DistinctNames()
    where = None if found.where is None else parse_condition(found.where)
    for one in chain(chosen, found.almost if n is None else ()):
        tolerance = tolerance_of(found, one)
        if where is not None:  # shares would be of rows that are not all of the table
            tolerance = tolerance.counted(found.n_rows, single_row=one.constraint.is_single_row)
        rule = Rule(
            name=names.of(suggest_name(one.constraint)),
            constraint=one.constraint,
            tolerance=tolerance,
            nulls=found.options.nulls,
            where=where,
            description=one.sentence,
            status=Status.PROPOSED,
        )
        entry = Entry.of(rule, default_nulls=found.options.nulls)
        yield one, rule, entry if where is None else replace(entry, where=found.where)


def with_remarks(found: CompleteDiscovery, written: Iterator[Draft]) -> Iterator[tuple[Discovered, list[Remarked]]]:
    """Each rule with its entry and what is said above that: which columns it and the next rules are about, and what
    breaks it."""
    before: Discovered | None = None
    for rule, _, entry in written:
        remarks = []
        if rule.blame is not None and (before is None or before.blame is None):
            remarks.append("Rules that only a few pairs of rows break:")
        elif before is None or before.group != rule.group:
            remarks.append(f"About {', '.join(rule.constraint.columns)}:")
        broken = plural(rule.violations, "violation")
        if rule.blame is not None:
            remarks.append(f"{plural(rule.blame, 'row')} to blame, {broken}")
        elif rule.violations:
            remarks.append(f"{broken}; {found.options.measure.value} is {rule.error:.4%}")
        yield rule, [(entry, remarks)]
        before = rule


def tolerance_of(found: CompleteDiscovery, rule: Discovered) -> Tolerance:
    """What lets today's rows pass, and no more."""
    n = found.n_rows
    if rule.pairs:
        return Tolerance(rows=Limit.share(len({row for pair in rule.pairs for row in pair}), n))
    if rule.violations:
        every = n if rule.constraint.is_single_row else n * (n - 1)
        return Tolerance(violations=Limit.share(rule.violations, every))
    return Tolerance()
