"""What is legal in a rule book and still no use: rules that cannot fail, say the same, or follow from others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain

from refute.language.logic.closure import Closure
from refute.language.logic.implication import implies, is_trivial, redundant_predicates
from refute.language.render.text import render_predicate
from refute.language.rulebook.book import RuleBook
from refute.language.rulebook.rule import Rule

_MOST_PAIRS = 30_000  # of rules over the same columns that are compared: a second of work
_UNCOMPARED = "and those after it were not compared with the others: too many rules read the same columns."


@dataclass(frozen=True, slots=True)
class Advice:
    """One remark about a rule; the message goes on where the rule's name ends."""

    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"Rule {self.rule.name!r} {self.message}"


def advise(book: RuleBook) -> tuple[Advice, ...]:
    """Remarks on the rules, in their order: never broken, said before, implied by another, or longer than needed."""
    found: list[Advice] = []
    seen: dict[object, Rule] = {}
    useful: list[Rule] = []
    for rule in book:
        if is_trivial(rule.constraint):
            found.append(Advice(rule, "can never be broken: its comparisons contradict each other."))
            continue
        said = (rule.constraint.fingerprint, rule.nulls, rule.where)
        if said in seen:
            found.append(Advice(rule, f"says the same as rule {seen[said].name!r}."))
            continue
        seen[said] = rule
        useful.append(rule)
        spare = redundant_predicates(rule.constraint, rule.nulls)
        if spare:
            written = " and ".join(map(render_predicate, spare))
            found.append(Advice(rule, f"does not need {written}: the rest of the rule implies it."))
    found.extend(_implied(useful))
    position = {name: number for number, name in enumerate(book.names)}
    return tuple(sorted(found, key=lambda item: position[item.rule.name]))


def _implied(rules: list[Rule]) -> list[Advice]:
    """Remarks on rules that follow from another one. Of two that follow from each other, the later one is named."""
    found: dict[str, Advice] = {}
    columns = {rule.name: frozenset(rule.constraint.columns) for rule in rules}
    uses = Counter(chain.from_iterable(columns.values()))
    by_rarest: dict[str, list[int]] = {}  # a rule that implies another one reads no column that the other does not
    for number, rule in enumerate(rules):
        by_rarest.setdefault(min(columns[rule.name], key=uses.__getitem__), []).append(number)
    looked = 0
    for number, rule in enumerate(rules):
        closure = Closure(rule.constraint.predicates, rule.nulls)
        for candidate in sorted(chain.from_iterable(by_rarest.get(column, ()) for column in columns[rule.name])):
            other = rules[candidate]
            if candidate == number or other.name in found or not columns[other.name] <= columns[rule.name]:
                continue
            looked += 1
            if looked > _MOST_PAIRS:
                found[rule.name] = Advice(rule, _UNCOMPARED)
                return list(found.values())
            if _covers(other, rule) and implies(other.constraint, rule.constraint, rule.nulls, closure):
                found[rule.name] = Advice(rule, f"follows from rule {other.name!r}.")
                break
    return list(found.values())


def _covers(first: Rule, second: Rule) -> bool:
    """Whether the first is about all rows the second is about, reads nulls alike, and tolerates no more."""
    rows = first.where is None or first.where == second.where
    return rows and first.nulls is second.nulls and (not first.tolerance or first.tolerance == second.tolerance)
