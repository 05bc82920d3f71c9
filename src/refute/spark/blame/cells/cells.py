"""The cells of suspects that were found in a Spark table, and what they should say: asked of the rows that stay.

What is asked, and what follows from the answers, is the way of `blame.cells` and `blame.repairs`; here rows that stand
for several are taken apart again, as these may differ in what other rules read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from refute.blame.cells.cells import NamedCells, name_cells
from refute.blame.cells.fitting import Fitting
from refute.blame.cells.repairs import in_lines, without_harm
from refute.blame.cells.sayings import CellSayings, OwnCells
from refute.blame.contest import Longs
from refute.blame.lines import SuspectFinding
from refute.blame.rows import Blame, RuleBlame
from refute.language.form import operands
from refute.language.rulebook import Rule
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.spark.blame.alike import Representatives, all_columns_read, in_order
from refute.spark.blame.cells.fits import OrderFits
from refute.spark.blame.cells.rivals import SparkRival
from refute.spark.blame.cells.staying import StayingRows
from refute.spark.blame.cells.testimony import SparkTestimony
from refute.spark.blame.shapes import BlameShape
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

_NUMBER, _ASKED = RESERVED + "number", RESERVED + "asked"


class SparkNaming:
    """Makes a finding of rows to blame, which are given by the rows that stand for them."""

    def __init__(self, alike: Representatives, rules: Sequence[Rule]) -> None:
        self._engine = alike.engine
        self._alike = alike
        self._rules = rules
        self._read = list(all_columns_read(rules))
        self._shapes = {rule.name: BlameShape.of(rule) for rule in rules}

    def finding(self, blame: Blame, ids: pa.ChunkedArray, n_rows: int) -> tuple[SuspectFinding, pa.ChunkedArray]:
        """The finding over all rows that those of a blame stand for, one line each, and their ids."""
        listed = [blame.rows, *(part for one in blame.by_rule for part in (one.rows, one.twins))]
        times = np.ones(len(blame.suspects), np.int64) if blame.times is None else blame.times
        numbers, members = self._alike.members(ids, times, np.unique(np.concatenate(listed)))
        rows = in_order(self._fetched(numbers, members))
        own, ids = rows.column(_NUMBER).to_numpy(), rows.column(ROW_COLUMN)
        rows = rows.drop_columns([_NUMBER, ROW_COLUMN])
        blame = _taken_apart(blame, own)
        gone = ids.take(row_numbers(blame.rows))
        staying = StayingRows(self._engine, [self._engine.names[name] for name in self._read], gone)
        dependencies = [rule for rule in self._rules if self._shapes[rule.name].has_groups and blame.suspects.any()]
        known = SparkTestimony(self._engine, dependencies, rows, blame.suspects, staying)
        named = in_lines(blame.by_rule, known.names, name_cells(known, blame.rows))
        named, rows = self._with_donors(known, named, rows)
        relation = Relation.of(rows)
        possible = [
            rule for rule in self._rules if rule.constraint.is_single_row or self._shapes[rule.name].form.possible
        ]
        rivals = [
            SparkRival(rule, staying, relation, self._blamed(blame, rule))
            for rule in possible
            if not rule.constraint.is_single_row and rule not in dependencies
        ]
        named = without_harm(relation, possible, rivals, known, named)
        cells: dict[str, OwnCells] = {}
        for rule in self._rules:
            cells[rule.name], rows = self._own(rule, self._blamed(blame, rule), staying, rows)
        relation = Relation.of(rows)
        sayings = CellSayings(relation, known.names, named, cells)
        return SuspectFinding(relation, tuple(self._rules), blame, sayings, n_rows), ids

    def _fetched(self, numbers: Longs, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
        """The columns that rules read of some rows, under the table's names, with their ids and a number."""
        asked = frame_of(pa.table([row_numbers(numbers), ids], names=[_NUMBER, _ASKED]), self._session)
        plain = [self._engine.names[name] for name in self._read]
        every = self._engine.with_rows().select(*plain, ROW_COLUMN)
        found = every.join(asked, F.col(ROW_COLUMN) == F.col(_ASKED)).drop(_ASKED).toArrow()
        return found.rename_columns([*self._read, ROW_COLUMN, _NUMBER])

    @property
    def _session(self) -> SparkSession:
        return self._engine.source.frame.sparkSession

    def _with_donors(self, known: SparkTestimony, named: NamedCells, rows: pa.Table) -> tuple[NamedCells, pa.Table]:
        """The rows with those behind them that values are taken from."""
        given = named.donors >= 0
        donors, places = np.unique(named.donors[given], return_inverse=True)
        if len(donors) == 0:
            return named, rows
        fetched = self._fetched(np.arange(len(donors)), known.ids(donors)).sort_by(_NUMBER)
        fetched = fetched.select(self._read)
        known.learn(fetched)
        numbers = named.donors.copy()
        numbers[given] = rows.num_rows + places.ravel()
        return replace(named, donors=numbers), pa.concat_tables([rows, fetched])

    def _blamed(self, blame: Blame, rule: Rule) -> Longs:
        return next((one.rows for one in blame.by_rule if one.rule.name == rule.name), np.zeros(0, np.int64))

    def _own(self, rule: Rule, blamed: Longs, staying: StayingRows, rows: pa.Table) -> tuple[OwnCells, pa.Table]:
        """What a rule says of cells by itself; values that bound an interval are rows more."""
        shape = self._shapes[rule.name]
        if not shape.is_chain or rule.constraint.computes:
            names = rule.constraint.columns if rule.constraint.is_single_row or shape.is_decided else ()
            return OwnCells(rule, names), rows
        fits: list[Fitting] = []
        plain = BlameShape.of(self._alike.plain[rule.name])
        asked = rows.select(self._read).take(row_numbers(blamed))
        asked = asked.rename_columns([self._engine.names[name] for name in self._read])
        for column in range(2 if len(blamed) else 0):
            one = shape.form.order[column]
            name = operands(one.predicate)[0]
            found = OrderFits(staying, plain).interval(column, asked)
            bounds = []
            for side in ("low", "high"):
                values = found.column(side)
                there = ~values.is_null().to_numpy()
                bounds.append(np.where(there, rows.num_rows + np.cumsum(there) - 1, -1))
                more = pa.table({name: values.filter(pa.array(there)).cast(rows.column(name).type)})
                rows = pa.concat_tables([rows, more], promote_options="default")
            size = found.column("size").to_numpy().astype(np.int64)
            fits.append(Fitting(name, bounds[0], bounds[1], one.is_strict, size))
        return OwnCells(
            rule, (), lambda asked: tuple(_picked(one, np.searchsorted(blamed, asked)) for one in fits)
        ), rows


def _picked(one: Fitting, at: Longs) -> Fitting:
    return replace(one, low=one.low[at], high=one.high[at], group=one.group[at])


def _taken_apart(blame: Blame, own: Longs) -> Blame:
    """The blame over rows of which each is one that row `own[i]` of before stands for."""

    def members(rows: Longs) -> tuple[Longs, Longs]:
        """The rows that some stand for, and which of these it is."""
        place = np.full(len(blame.suspects), -1)
        place[rows] = np.arange(len(rows))
        found = np.flatnonzero(place[own] >= 0)
        return found, place[own[found]]

    def apart(one: RuleBlame) -> RuleBlame:
        rows, at = members(one.rows)
        twins, twin_at = members(one.twins)
        counts = (one.violations[at], one.clears[at], one.either[at])
        return RuleBlame(one.rule, rows, *counts, twins, one.twin_violations[twin_at])

    return Blame(blame.suspects[own], blame.bound, tuple(map(apart, blame.by_rule)), (), None)
