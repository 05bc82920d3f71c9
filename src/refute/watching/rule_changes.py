"""What other rules do to the violations of a watch: no row comes or goes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from refute.language.rulebook import Rule
from refute.watching.here import RowsHere
from refute.watching.outcome import BatchOutcome, marks_of, of_rules
from refute.watching.publishing.ledger import Ledger, Turn
from refute.watching.publishing.table_parts import Listed, lines_of
from refute.watching.shards.elsewhere import RowsElsewhere


def replace_rules(
    held: RowsHere | RowsElsewhere, ledger: Ledger, rules: Sequence[Rule], batch: int, schema: pa.Schema
) -> BatchOutcome:
    """What it did that other rules are watched from now on: new ones are checked on the rows that are there.

    The table has their violations as open since a batch, and nothing of rules that are dropped.
    """
    before = dict(held.counts)
    dropped = [rule.name for rule in held.rules if rule not in rules]
    went = ledger.open_of(dropped, held.find)
    came = _as_lines(held.with_rules(rules), batch, schema)
    ledger.state = ledger.write(Turn.of_rules(batch, [], dropped), schema, held.find)
    ledger.rename_rules([rule.name for rule in rules])
    _list(came, held, ledger, batch, schema)
    return of_rules(held.n_rows, before, held.counts, went, came, held.key)


def list_anew(held: RowsHere | RowsElsewhere, ledger: Ledger, batch: int, schema: pa.Schema) -> None:
    """Lists all open violations in a table that has none, as open since a batch."""
    _list(_as_lines(held.with_rules(held.rules, anew=True), batch, schema), held, ledger, batch, schema)


def _as_lines(found: Listed, batch: int, schema: pa.Schema) -> Listed:
    return {name: (lines_of(name, clashes, schema, batch), pairs) for name, (clashes, pairs) in found.items()}


def _list(came: Listed, held: RowsHere | RowsElsewhere, ledger: Ledger, batch: int, schema: pa.Schema) -> None:
    added = [(lines, marks_of(ledger.numbers[name], pairs)) for name, (lines, pairs) in came.items()]
    ledger.state = ledger.write(Turn.of_rules(batch, added), schema, held.find)
