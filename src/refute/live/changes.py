"""What a change of rows did to the violations of every rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from refute.faults import needing
from refute.language.rulebook import Rule
from refute.live.indexes.index import Longs
from refute.live.rows import Rows
from refute.relation.arrays import combined, row_numbers
from refute.relation.shown import shown_values

if TYPE_CHECKING:
    import pandas


class Changes:
    """The violations that appeared and that vanished, by rule, and how many there are now.

    Tables are made when they are first read, with the columns of `refute.violations`. A rule with too many violations
    to keep is only counted: it is not in `added` and `removed`, but in `n_added` and `n_removed`.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        deltas: Mapping[str, tuple[int, int]],
        pairs: Mapping[str, tuple[tuple[Longs, ...], tuple[Longs, ...]]],
        rows: Sequence[Rows],
        key: Sequence[str],
        rules: Sequence[Rule],
    ) -> None:
        self.counts = dict(counts)
        self._deltas = deltas
        self._pairs = pairs
        self._rows = tuple(rows)  # before and after: a row that is gone is known to the first alone
        self._key = tuple(key)
        self._rules = tuple(rules)

    @property
    def n_added(self) -> dict[str, int]:
        """How many violations of each rule appeared; for a rule that is only counted, how many more there are."""
        return {name: added for name, (added, _) in self._deltas.items()}

    @property
    def n_removed(self) -> dict[str, int]:
        """How many violations of each rule vanished; for a rule that is only counted, how many fewer there are."""
        return {name: removed for name, (_, removed) in self._deltas.items()}

    @cached_property
    def added(self) -> dict[str, pa.Table]:
        """The violations that appeared, by rule."""
        return {name: self._table(name, added, self._rows[1]) for name, (added, _) in self._pairs.items()}

    @cached_property
    def removed(self) -> dict[str, pa.Table]:
        """The violations that vanished, by rule."""
        return {name: self._table(name, removed, self._rows[0]) for name, (_, removed) in self._pairs.items()}

    @property
    def only_counted(self) -> tuple[str, ...]:
        """The rules whose violations are too many to be listed."""
        return tuple(name for name in self.counts if name not in self._pairs)

    def __bool__(self) -> bool:
        return any(added or removed for added, removed in self._deltas.values())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The violations that came and went: the rule, `added` or `removed`, and what names the rows."""
        for change, tables in (("added", self.added), ("removed", self.removed)):
            for name, table in tables.items():
                for values in zip(*map(shown_values, table.columns), strict=True):
                    yield name, change, *values

    def __repr__(self) -> str:
        parts = [
            f"{name}: +{added:,} -{removed:,}" for name, (added, removed) in self._deltas.items() if added or removed
        ]
        return f"Changes({', '.join(parts) or 'none'})"

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part

        rows = [(name, *delta, self.counts.get(name, 0)) for name, delta in self._deltas.items()]
        return table_part("Violations that appeared and vanished", ("rule", "appeared", "vanished", "now"), rows)

    def to_arrow(self) -> pa.Table:
        """All violations that came and went, with the columns `rule` and `change` before those of `added`."""
        parts = [
            pa.table(
                {
                    "rule": pa.array([name] * len(table), pa.string()),
                    "change": pa.array([change] * len(table), pa.string()),
                    **dict(zip(table.column_names, table.columns, strict=True)),
                }
            )
            for change, tables in (("added", self.added), ("removed", self.removed))
            for name, table in tables.items()
        ]
        empty = pa.table({"rule": pa.array([], pa.string()), "change": pa.array([], pa.string())})
        return pa.concat_tables([empty, *parts], promote_options="default")

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self.to_arrow().to_pandas()

    def _table(self, name: str, pairs: tuple[Longs, ...], rows: Rows) -> pa.Table:
        read = next(rule.constraint.columns for rule in self._rules if rule.name == name)
        return clashes_table(pairs, rows, self._key, read)


def clashes_table(pairs: tuple[Longs, ...], rows: Rows, key: Sequence[str], read: Sequence[str]) -> pa.Table:
    """Violations by the ids of their rows, `s` and `t`, then for each side its key and what the rule reads."""
    ids: dict[str, pa.Array | pa.ChunkedArray] = {}
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    names = list(dict.fromkeys((*key, *(name for name in read if name in rows.schema.names))))
    for side, slots in zip(("s", "t"), pairs, strict=False):
        held = rows.take(slots, names)
        whole = [combined(held.column(name)) for name in names]
        if len(key) > 1:
            ids[side] = pa.StructArray.from_arrays(whole[: len(key)], list(key))
        else:
            ids[side] = whole[0] if key else row_numbers(slots)
        columns |= {f"{side}_{name}": part for name, part in zip(names, whole, strict=True)}
    return pa.table({**ids, **columns})
