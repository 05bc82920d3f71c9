"""Which suspects a report shows unasked: those found in about a second. What it costs follows from the rules and
the number of rows: each rule looks at all rows several times, most often where no group and no order decides. Of few
rows, what counts is how many rules are broken, since each has its say about the cells of all suspects."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from refute.language.form import Form, operands
from refute.language.rulebook import Rule

LOOKS = 3_000_000  # three take a microsecond of CPU, on a machine of 2024
GROUPS, ORDERS, OTHERS = 1, 3, 40  # for each row: rules that groups decide, that a sort decides, and all others
BROKEN = 15_000  # what a broken rule costs at the least


def cost(rules: Iterable[Rule], n_rows: int, broken: Collection[str] = ()) -> int:
    """How many looks at rows it takes, about, to find the suspects of a table; with the names of broken rules."""
    return sum(max(n_rows * _looks(rule), BROKEN if rule.name in broken else 0) for rule in rules)


def _looks(rule: Rule) -> int:
    if rule.constraint.is_single_row:
        return 0
    form = Form.of(rule)
    if not form.order and len(form.differ) <= 1 and form.aligned:
        return GROUPS
    sorts = len(form.order) <= 2 and not form.differ and (form.aligned or _is_spans(form))
    return ORDERS if sorts else OTHERS


def _is_spans(form: Form) -> bool:
    """Whether two orders compare the same two columns crosswise, as rules about spans do."""
    compared = [operands(one.predicate) for one in form.order]
    return len(compared) == 2 and compared[0] == compared[1][::-1]
