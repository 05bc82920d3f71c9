"""However rows are divided among tasks, every pair is found once: tasks and cells together give what all pairs give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from refute.language.form import Form
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.spark.grid.division import Division
from refute.spark.grid.groups import EqualityKey
from refute.spark.grid.sending import Sending
from refute.spark.grid.settled import Settled
from refute.spark.grid.shape import GridShape
from refute.spark.grid.tasks import OWN, CountCells, Known, Meet, Question, Send
from refute.spark.workers.blocks import BLOCK, packed, tables_of
from refute.spark.workers.worker import ROW_COLUMN
from strategies import KINDS, Case, cases
from thorough import examples

SPARK_KINDS = tuple(
    kind
    for kind in KINDS
    if kind.arrow not in (pa.uint64(), pa.timestamp("ms")) and not pa.types.is_dictionary(kind.arrow)
)


def _blocks(table: pa.Table, form: Form, sizes: list[int]) -> list[pa.RecordBatch]:
    """The rows as blocks with hashes and numbers, as Spark makes them."""
    whole = table.append_column(ROW_COLUMN, pa.array(np.arange(table.num_rows)))
    for predicate in form.equal + form.differ:
        key = EqualityKey.of(predicate, Relation.of(table.slice(0, 0)), form.rule.nulls)
        for name, kind in zip(key.hashed or (), (key.axis.s_kind, key.axis.t_kind), strict=False):
            if name not in whole.column_names:
                hashed = [
                    hash(str(value)) if isinstance(value, str) else hash(value) for value in _plain(table, kind.name)
                ]
                whole = whole.append_column(name, pa.array(hashed, pa.int64()))
    found, start = [], 0
    for size in [*sizes, table.num_rows]:
        part = whole.slice(start, size)
        start += size
        if part.num_rows:
            found.append(pa.record_batch({BLOCK: pa.array([packed(part.combine_chunks())], pa.binary())}))
    return found


def _plain(table: pa.Table, name: str) -> list[object]:
    return [None if value is None or value != value else value for value in table.column(name).to_pylist()]


def _met(
    blocks: list[pa.RecordBatch], division: Division, question: Question, known: Known | None = None
) -> Iterator[pa.RecordBatch]:
    send = Send(Sending(division, named=True), known)
    rules = [division.shape.class_rule(j, apart=division.apart) for j in range(len(division.cuts))]
    rules.append(division.shape.whole_rule(apart=division.apart, in_buckets=division.places.in_parts))
    meet = Meet(question, division.shape, tuple(rules), MethodName.AUTO)
    tasks: dict[int, list[pa.RecordBatch]] = {}
    for batch in send(iter(blocks)):
        for place, task in enumerate(batch.column("task").to_pylist()):
            tasks.setdefault(task, []).append(batch.slice(place, 1))
    for batches in tasks.values():
        yield from meet(iter(batches))


def _settled(blocks: list[pa.RecordBatch], division: Division) -> Settled:
    s: Counter[int] = Counter()
    t: Counter[int] = Counter()
    for batch in CountCells(division)(iter(blocks)):
        for row in batch.to_pylist():
            s[row["cell"]] += row["s"]
            t[row["cell"]] += row["t"]
    own = s.pop(OWN, 0)
    s_cells, t_cells = (sorted(cell for cell, n in side.items() if n and cell >= 0) for side in (s, t))
    return Settled(
        division,
        np.array(s_cells, np.int64),
        np.array([s[cell] for cell in s_cells], np.int64),
        np.array(t_cells, np.int64),
        np.array([t[cell] for cell in t_cells], np.int64),
        own,
    )


def _division(form: Form, table: pa.Table, blocks: list[pa.RecordBatch], tasks: int, task_rows: int) -> Division:
    types = Relation.of(table.slice(0, 0))
    sample = pa.concat_tables(tables_of(iter(blocks))) if blocks else table.slice(0, 0)
    return Division.of_sample(GridShape.of(form, types), sample, rows=table.num_rows, tasks=tasks, task_rows=task_rows)


@examples(120)
@given(
    case=cases(max_rows=14, kinds=SPARK_KINDS),
    tasks=st.integers(1, 5),
    task_rows=st.sampled_from([1, 2, 4, 100]),
    sizes=st.lists(st.integers(1, 6), max_size=3),
)
def test_tasks_and_cells_find_every_pair_once(case: Case, tasks: int, task_rows: int, sizes: list[int]) -> None:
    if case.rule.is_single_row:
        return
    rule = Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls))
    truth = oracle.violations(case.table, case.rule, case.nulls)
    form = Form.of(rule)
    if not form.possible or not case.table.num_rows:
        assert not truth
        return
    blocks = _blocks(case.table, form, sizes)
    as_s, as_t = Counter(s for s, _ in truth), Counter(t for _, t in truth)
    total = 0
    for sign, part in form.signed():
        division = _division(part, case.table, blocks, tasks, task_rows)
        total += sign * sum(int(n) for b in _met(blocks, division, Question.COUNT) for n in b["violations"].to_pylist())
        total += sign * _settled(blocks, division).violations
    assert total == len(truth)
    found_s: Counter[int] = Counter()
    found_t: Counter[int] = Counter()
    pairs: list[tuple[int, int]] = []
    exists = False
    for part in form.split():
        division = _division(part, case.table, blocks, tasks, task_rows)
        settled = _settled(blocks, division)
        known = Known(settled.s_cells, settled.above, settled.t_cells, settled.below)
        for batch in _met(blocks, division, Question.PARTNERS, known):
            for row in batch.to_pylist():
                found_s[row[ROW_COLUMN]] += row["as_s"]
                found_t[row[ROW_COLUMN]] += row["as_t"]
        for batch in _met(blocks, division, Question.PAIRS):
            pairs += [(row["s"], row["t"]) for row in batch.to_pylist()]
        exists |= any(b.num_rows for b in _met(blocks, division, Question.EXISTS)) or settled.violations > 0
    assert +found_s == as_s
    assert +found_t == as_t
    assert exists == bool(truth)
    assert set(pairs) <= set(truth)
    assert len(set(pairs)) == len(pairs)


def _planned(text: str, sample: pa.Table, *, rows: int, tasks: int, task_rows: int = 1_000_000) -> Division:
    shape = GridShape.of(Form.of(Rule.of(text)), Relation.of(sample.slice(0, 0)))
    return Division.of_sample(shape, sample, rows=rows, tasks=tasks, task_rows=task_rows)


def _uniform(rows: int = 100_000) -> pa.Table:
    random = np.random.default_rng(5)
    columns = {name: pa.array(random.random(rows)) for name in ("a", "b", "c")}
    return pa.table(columns | {"g": pa.array(random.integers(0, 5000, rows)), "n": pa.array(["x"] * rows)})


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("not (s.a < t.a and s.b > t.b)", 2),
        ("not (s.n = t.n and s.a < t.a and s.b > t.b)", 2),
        ("not (s.a < t.a and s.b > t.b and s.c < t.c)", 3),
        ("not (s.a < t.b and s.b > t.c)", 2),
    ],
)
def test_one_group_of_a_billion_rows_is_planned_into_tasks_of_bounded_size(text: str, orders: int) -> None:
    sample = _uniform()
    if "s.n" in text:
        sample = sample.append_column("__hash_n", pa.array(np.zeros(sample.num_rows, np.int64)))
    division = _planned(text, sample, rows=10**9, tasks=1000)
    assert len(division.groups) == 1
    load = division.places.load
    assert load.sum() >= orders * 0.95e9
    assert load.max() <= 2_000_000


@pytest.mark.parametrize("text", ["not (s.a < t.a and s.b > t.b)", "not (s.a < t.a and s.b > t.b and s.c < t.c)"])
def test_as_many_tasks_as_are_asked_for_get_rows(text: str) -> None:
    load = _planned(text, _uniform(), rows=10_000_000, tasks=256).places.load
    assert len(load) == 256
    assert load.min() > 0
    assert load.max() <= 1.5 * load.mean()


def test_five_thousand_groups_over_a_thousand_tasks_are_large_by_their_rows_not_by_the_tasks() -> None:
    text, sample = "not (s.g = t.g and s.a < t.a and s.b > t.b)", _uniform()
    assert len(_planned(text, sample, rows=10**8, tasks=1000).groups) == 0
    division = _planned(text, sample, rows=2 * 10**9, tasks=1000)
    assert len(division.groups) > 4700
    assert division.places.load.max() <= 3_000_000
