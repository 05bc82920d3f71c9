"""What `refute track` says: how rules changed, in words and as JSON, and the file of rules for review."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from refute.display import in_one_line
from refute.display.plurals import plural
from refute.language.constraint import DenialConstraint
from refute.language.render import render_english, render_text
from refute.language.render.text import render_sugar
from refute.language.rulebook import Dataset, Entry, Rule, RuleBook, Status, suggest_name
from refute.language.rulebook.naming import distinct
from refute.language.short_forms.sugar import recognise
from refute.tracking.changes import WhyGone

if TYPE_CHECKING:
    import refute
    from refute.discovery import Discovered
    from refute.tracking.changes import AddedRule, RemovedRule

_NAMED = ("key", "functional dependency")  # kinds of rules whose names say all of them


def written(rule: DenialConstraint) -> str:
    """A rule in its shortest form: `zip -> city`, `unique(id)`, else as a denial."""
    sugar = recognise(rule)
    return render_text(rule) if sugar is None else render_sugar(sugar)


def diff(changes: refute.RuleChanges, top: int) -> list[str]:
    """The changes, line by line: at most `top` rules that went, and as many that came."""
    removed = sorted(changes.removed, key=lambda one: (one.holds, -(one.held or 0), one.text))
    added = sorted(changes.added, key=lambda one: one.text)
    lines = [_gone(one) for one in removed[:top]]
    lines += [f"... and {plural(len(removed) - top, 'more rule')} that went"] if len(removed) > top else []
    lines += [_come(one) for one in added[:top]]
    lines += [f"... and {plural(len(added) - top, 'more rule')} that came"] if len(added) > top else []
    return [in_one_line(line) for line in lines] or ["No rule changed."]


def _gone(one: RemovedRule) -> str:
    held = f"{written(one.constraint)} held for {plural(one.held or 0, 'batch', 'batches')}"
    if one.why is WhyGone.TOO_FEW_ROWS:
        return f"{held}, no longer a rule, as there are fewer than two rows"
    if one.pair is not None:
        return f"{held}, broken by rows {_row(one.pair[0])} and {_row(one.pair[1])}"
    if not one.holds:
        return f"{held}, broken by more pairs than its error allows"
    follows = "others" if one.follows is None else written(one.follows)
    return f"{held}, now follows from {follows}"


def _come(one: AddedRule) -> str:
    because = ""
    if one.refines is not None:
        because = f", in place of {written(one.refines)}"
    elif one.generalises:
        because = f", which covers {'; '.join(map(written, one.generalises))}"
    return f"now holds: {written(one.constraint)}{because}"


def _row(name: Any) -> str:
    return "(" + ", ".join(map(str, name)) + ")" if isinstance(name, tuple) else str(name)


def standing(tracker: refute.Tracker, rules: list[Discovered]) -> list[str]:
    """Rules, each with the number of batches for which it has held."""
    held = tracker.held
    return [
        in_one_line(f"  {written(one.constraint)} (for {plural(held[one.text], 'batch', 'batches')})") for one in rules
    ]


def as_json(tracker: refute.Tracker, changes: refute.RuleChanges | None) -> dict[str, Any]:
    """The state and its changes, as what JSON can hold."""
    held = tracker.held
    told: dict[str, Any] = {
        "rows": tracker.n_rows,
        "batches": tracker.batches,
        "key": list(tracker.key),
        "rules": [{"constraint": text, "batches": held[text]} for text in sorted(held)],
        "notes": list(tracker.notes),
    }
    if changes is None:
        return told
    told["changed_rows"] = changes.rows._asdict()
    told["removed"] = [
        {
            "constraint": one.text,
            "sentence": one.sentence,
            "batches": one.held,
            "lost": not one.holds,
            "why": one.why.value,
            "rows": None if one.pair is None else list(one.pair),
            "follows": None if one.follows is None else render_text(one.follows),
        }
        for one in sorted(changes.removed, key=lambda one: one.text)
    ]
    told["added"] = [
        {
            "constraint": one.text,
            "sentence": one.sentence,
            "refines": None if one.refines is None else render_text(one.refines),
            "generalises": [render_text(rule) for rule in one.generalises],
        }
        for one in sorted(changes.added, key=lambda one: one.text)
    ]
    return told


def review(tracker: refute.Tracker) -> str:
    """All rules as a rule file in which each stays as and where it is, whatever happens to others.

    Rules are in the order of their kinds and texts, and those of which several are about the same columns are named
    by what they say. So two files of one state at different times differ by the rules that came and went.
    """
    held, found = tracker.held, tracker.discovery()
    options = found.options
    kinds = list(dict.fromkeys(type(one.sort) for one in tracker.rules))
    order = {sort: place for kind in kinds for place, sort in enumerate(kind)}
    chosen = sorted(tracker.rules, key=lambda one: (order[one.sort], one.text))
    names = distinct(_name(one) for one in chosen)
    rules = tuple(
        Rule(
            name=name,
            constraint=one.constraint,
            tolerance=found.tolerance(one),
            nulls=options.nulls,
            description=f"{render_english(one.constraint)} Since batch {tracker.batches - held[one.text] + 1:,}.",
            status=Status.PROPOSED,
        )
        for name, one in zip(names, chosen, strict=True)
    )
    return RuleBook(rules, tuple(map(Entry.of, rules)), Dataset(key=tracker.key, nulls=options.nulls)).to_yaml()


def _name(one: Discovered) -> str:
    name = suggest_name(one.constraint)
    return name if one.sort.value in _NAMED else f"{name}_{zlib.crc32(one.text.encode()):08x}"
