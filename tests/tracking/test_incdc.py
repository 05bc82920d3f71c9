"""The indexes of IncDC: the worked examples of the paper by their numbers, and laws that hold for all rows.

Tables and numbers are those of Qian et al., Incremental discovery of denial constraints, VLDB Journal 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.discovery.options import options_of
from refute.discovery.space.predicates import space_for
from refute.discovery.table import LocalTable
from refute.errors import OptionError
from refute.kernels.evidence.clues import clues_of
from refute.relation import Relation
from refute.tracking.incdc.columns import ColumnFigures
from refute.tracking.incdc.demands import ANY, BOTH, Demands, SlotColumns
from refute.tracking.incdc.finder import IndexFinder, visits_of
from refute.tracking.incdc.order_index import OrderIndex, exchanged, negated, turned
from refute.tracking.incdc.selection import Selection, select_indexes
from refute.tracking.incdc.thresholds import Thresholds
from refute.tracking.rows import TrackedRows
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways
from thorough import examples

LESS, EQUAL, GREATER = 1, 2, 4

# Tables 1 and 2: t0 to t6 are there, t7 to t9 come.
TAX = pa.table(
    {
        "date": [20140410, 20140224, 20140413, 20130403, 20140329, 20130404, 20150324, 20130322, 20140218, 20150213],
        "ssn": [
            *(719975883, 303975883, 701178073, 801350874, 719975883, 701178073, 970122634),
            *(435849162, 701178073, 801350874),
        ],
        "num": [1448, 1401, 1486, 1386, 1427, 1386, 1547, 1368, 1478, 1533],
        "state": ["CO", "CO", "ND", "UT", "CO", "ND", "CO", "UT", "ND", "UT"],
        "zip": [80612, 80612, 58671, 84308, 80612, 58671, 80209, 84308, 58671, 84308],
        "sal": [32000, 50000, 30000, 55000, 7500, 6500, 95000, 40000, 33000, 32000],
        "rate": [1.24, 1.42, 1.21, 2.04, 1.21, 0.24, 2.85, 1.43, 2.05, 1.23],
        "txa": [3000, 1500, 3400, 1300, 0, 900, 1100, 3300, 1400, 3200],
    }
)
# Tables 8 and 9
CROSSED = pa.table(
    {
        "a": [7, 8, 30, 40, 15, 25, 3],
        "b": [5, 6, 8, 0, 7, 2, 22],
        "c": [7, 3, 9, 2, 17, 15, 20],
        "d": [9, 25, 11, 15, 22, 30, 10],
    }
)


def tracked(table: pa.Table, rows: int, **options: Any) -> tuple[TrackedRows, np.ndarray[Any, Any]]:
    """The first rows of a table as a tracker has them, all of them coded, and the numbers of the others."""
    given_options = options_of(**{"cross_columns": False, **options})
    space, _ = space_for(LocalTable(Relation.of(table)), given_options)
    kept = TrackedRows(space, given_options.nulls, {name: table.schema.field(name).type for name in table.column_names})
    relation = Relation.of(table)
    coded = kept.coded(relation) or kept.coded(relation)
    assert coded is not None
    numbers = kept.take_in(coded[0], relation, np.arange(table.num_rows))
    kept.alive[rows : table.num_rows] = False
    return kept, numbers[rows:]


def at(rows: TrackedRows, *names: str) -> tuple[int, int]:
    first, second = (rows.at[name] for name in names)
    return first, second


def fetched(index: OrderIndex, row: int, asking: tuple[int, int], first: int, second: int) -> set[int]:
    """The members whose values have these signs beside those of a row."""
    ranges = index.fetch(np.array([row]), asking, int(BOTH[first, second]))
    return {int(one) for _, _, begin, end in ranges for one in index.members[begin:end]}


def test_an_index_of_two_orders_is_that_of_example_6() -> None:
    rows, _ = tracked(TAX, 7)
    index = OrderIndex(rows, at(rows, "txa", "sal"), falling=True)
    assert index.chains == [[4, 5], [6, 3, 1, 0, 2]]


def test_rows_are_fetched_as_in_example_7() -> None:
    rows, _ = tracked(TAX, 7)
    columns = at(rows, "txa", "sal")
    for falling in (True, False):
        index = OrderIndex(rows, columns, falling=falling)
        assert fetched(index, 8, columns, LESS, GREATER) == {3, 6}  # t8.txa > t.txa and t8.sal < t.sal
        assert fetched(index, 8, columns, GREATER, LESS) == {0, 2}


def test_crossed_columns_are_fetched_as_in_example_8() -> None:
    rows, _ = tracked(CROSSED, 6, cross_columns=True, shared_values=0.0, average_ratio=0.0)
    first, second = at(rows, "a", "c"), at(rows, "b", "d")
    by_first, by_second = (OrderIndex(rows, columns, falling=True) for columns in (first, second))
    assert by_first.rank == by_second.rank == 2
    assert fetched(by_first, 6, second, GREATER, LESS) == {2, 3}  # t.a > t6.b and t.c < t6.d
    assert fetched(by_second, 6, first, LESS, GREATER) == {5}


def test_the_fewest_chains_are_those_of_example_9() -> None:
    rows, _ = tracked(TAX, 7)
    columns = at(rows, "date", "num")
    # rows are taken in ascending order here: of t3 and t5, which have one number, the other one is alone
    assert OrderIndex(rows, columns, strict=(True, True)).chains == [[3, 1, 4, 0, 2, 6], [5]]
    assert OrderIndex(rows, columns).chains == [[3, 5, 1, 4, 0, 2, 6]]  # one chain is enough for <=


def test_an_index_is_used_in_reverse_as_in_example_10() -> None:
    rows, _ = tracked(TAX, 7)
    columns = at(rows, "date", "num")
    for strict in ((True, True), (False, False)):
        index = OrderIndex(rows, columns, strict=strict)
        assert fetched(index, 8, columns, GREATER, LESS) == {0, 1, 4}  # t8.date < t.date and t8.num > t.num
        assert fetched(index, 8, columns, LESS, GREATER) == set()


def test_a_row_that_comes_goes_where_it_fits_as_in_example_11() -> None:
    rows, _ = tracked(TAX, 7)
    index = OrderIndex(rows, at(rows, "date", "num"), strict=(True, True))
    longest = max(index.chains, key=len)
    index.add(np.array([9]))
    assert [*longest[:-1], 9, longest[-1]] in index.chains  # between t2 and t6
    assert index.rank == 2


def test_correlation_is_that_of_example_13() -> None:
    rows, _ = tracked(TAX, 7)
    figures = ColumnFigures(rows, Thresholds())
    assert round(figures.correlation(*at(rows, "date", "num")), 2) == 0.88
    assert figures.score(rows.at["ssn"]) == pytest.approx(1 - 5 / 7)
    assert figures.score(rows.at["state"]) == pytest.approx(1 - 3 / 7)


# The rules of Example 1 that compare columns with themselves, as signs of t minus s.
RULES: tuple[dict[str, int], ...] = (
    {"zip": EQUAL, "state": LESS | GREATER},
    {"txa": GREATER, "sal": LESS, "rate": GREATER},
    {"ssn": EQUAL, "date": LESS, "num": EQUAL | GREATER},
)


def demands_of(rows: TrackedRows, rules: Sequence[dict[str, int]]) -> Demands:
    """What rules ask for, one slot for each column."""
    signs = np.array([[rule.get(name, 7) for name in rows.names] for rule in rules], np.uint8)
    operands = tuple(SlotColumns(k, k) for k in range(len(rows.names)))
    return Demands(signs == EQUAL, signs, operands)


def test_indexes_are_selected_by_the_thresholds_of_the_paper() -> None:
    rows, _ = tracked(TAX, 7)
    demands = demands_of(rows, RULES)
    chosen = select_indexes(demands, ColumnFigures(rows, Thresholds()), Thresholds())
    # zip has 4 and ssn 5 distinct values in 7 rows: both scores are below 0.6, so equality indexes serve these rules
    assert {rows.names[k] for k in chosen.equalities} == {"zip", "ssn"}
    assert len(chosen.falling) == 1
    assert chosen.serves(demands).all()
    # without such equalities orders come first, that of the best correlation and coverage before others
    by_orders = select_indexes(demands, ColumnFigures(rows, Thresholds()), Thresholds(equality=0.0))
    assert by_orders.falling[at(rows, "date", "num")] is False  # Example 13: not falling, though the rule asks for it
    assert by_orders.serves(demands).all()
    none = select_indexes(demands, ColumnFigures(rows, Thresholds()), Thresholds(orders=False))
    assert none.serves(demands).tolist() == [True, False, True]


def test_an_index_of_few_values_is_taken_only_where_nothing_else_serves() -> None:
    few = pa.table({"a": [n % 3 for n in range(60)], "b": list(range(60)), "c": [n * n % 61 for n in range(60)]})
    rows, _ = tracked(few, 60)
    figures, limits = ColumnFigures(rows, Thresholds()), Thresholds()
    low = {"a": LESS, "b": GREATER}
    assert select_indexes(demands_of(rows, [low]), figures, limits).falling == {(0, 1): True}  # as the rule asks for it
    alike = demands_of(rows, [{"a": LESS, "b": LESS}, {"a": GREATER, "b": GREATER}])
    assert select_indexes(alike, figures, limits).falling == {(0, 1): False}
    both = demands_of(rows, [{**low, "c": LESS}])
    assert list(select_indexes(both, figures, limits).falling) == [(1, 2)]
    with_equality = demands_of(rows, [{"a": EQUAL, "b": LESS, "c": LESS}])
    assert select_indexes(with_equality, figures, limits).equalities == ()  # a scores 0.95, so b and c come first
    late = select_indexes(demands_of(rows, [{"a": EQUAL, "b": LESS}]), figures, limits)
    assert late.equalities == (0,)


def test_the_index_that_serves_most_rules_is_preferred() -> None:
    rows, _ = tracked(TAX, 7)
    rules = [{"txa": LESS, "sal": GREATER}, {"txa": LESS, "sal": GREATER, "rate": GREATER}, {"txa": LESS, "rate": LESS}]
    figures = ColumnFigures(rows, Thresholds())
    chosen = select_indexes(demands_of(rows, rules), figures, Thresholds())
    pairs = {pair: 1 - abs(figures.correlation(*pair)) for pair in product(range(len(rows.names)), repeat=2)}
    coverage = {at(rows, "sal", "txa"): 2, at(rows, "rate", "txa"): 2, at(rows, "sal", "rate"): 1}
    best = min(coverage, key=lambda pair: pairs[min(pair), max(pair)] / coverage[pair])
    assert next(iter(chosen.falling)) == (min(best), max(best))


def test_a_difference_counts_as_two_rules() -> None:
    rows, _ = tracked(TAX, 7)
    assert demands_of(rows, [{"txa": LESS | GREATER, "sal": LESS | GREATER}, {"txa": LESS}]).weights.tolist() == [4, 1]


def test_what_served_a_rule_serves_those_that_refine_it() -> None:
    rows, _ = tracked(TAX, 7)
    rules = [{"txa": LESS | GREATER, "sal": EQUAL | LESS}]
    chosen = select_indexes(demands_of(rows, rules), ColumnFigures(rows, Thresholds()), Thresholds())
    finer = [{"txa": LESS, "sal": EQUAL}, {"txa": GREATER, "sal": LESS, "rate": EQUAL}]
    assert chosen.serves(demands_of(rows, finer)).all()
    assert not chosen.serves(demands_of(rows, [{"txa": EQUAL | LESS, "sal": LESS}])).any()
    assert not Selection().serves(demands_of(rows, rules)).any()


CELLS = st.none() | st.integers(0, 5)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), max_size=14)


def sign(a: int | None, b: int | None) -> int:
    """How codes compare: null is below all values."""
    x, y = (-1 if one is None else one for one in (a, b))
    return 0 if x < y else 1 if x == y else 2


@given(
    ROWS, ROWS, st.integers(0, 511), st.booleans(), st.tuples(st.booleans(), st.booleans()), st.booleans(), st.data()
)
@examples(60)
def test_an_index_gives_the_rows_that_compare_as_wanted(
    first: list[Any], more: list[Any], wanted: int, falling: bool, strict: Any, optimal: bool, data: Any
) -> None:
    first = [(0, 0, 0, 0), (1, 1, 1, 1), *first]  # no column is all null
    table = pa.table({name: pa.array([row[k] for row in (*first, *more)], pa.int64()) for k, name in enumerate("abcd")})
    nulls = data.draw(st.sampled_from(("sql", "equal")))
    rows, coming = tracked(table, len(first), cross_columns=True, shared_values=0.0, average_ratio=0.0, nulls=nulls)
    columns, asking = (0, 1), data.draw(st.sampled_from(((0, 1), (2, 3), (1, 2))))
    index = OrderIndex(rows, columns, falling=falling, strict=strict, optimal=optimal)
    cells = [*first, *more]

    def check(members: Sequence[int], batch: Any, found: Any, ranges: Any) -> None:
        met = sorted((int(a), int(found[m])) for a, _, begin, end in ranges.tolist() for m in range(begin, end))
        assert met == sorted(
            (place, row)
            for place, asker in enumerate(batch.tolist())
            for row in members
            if wanted
            >> (3 * sign(cells[row][0], cells[asker][asking[0]]) + sign(cells[row][1], cells[asker][asking[1]]))
            & 1
            and (
                nulls == "equal" or None not in (*(cells[row][k] for k in columns), *(cells[asker][k] for k in asking))
            )
        )

    check(range(len(first)), coming, index.members, index.fetch(coming, asking, wanted))
    check(coming.tolist(), coming, *index.among(coming, asking, wanted))
    rows.alive[coming] = True
    index.add(coming)
    everything = np.arange(len(cells))
    check(everything.tolist(), everything, index.members, index.fetch(everything, asking, wanted))
    going = everything[:: data.draw(st.integers(1, 4))]
    index.drop(going)
    left = np.setdiff1d(everything, going)
    check(left.tolist(), everything, index.members, index.fetch(everything, asking, wanted))
    for chain in index.chains:
        assert len(chain) or index.rank == 0
        for one, two in pairwise(chain):
            signs = [sign(cells[one][k], cells[two][k]) for k in columns]
            signs[1] = 2 - signs[1] if falling else signs[1]
            assert signs == [1, 1] or all(
                x == 0 or (x == 1 and not only) for x, only in zip(signs, strict, strict=True)
            )


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9), st.tuples(st.booleans(), st.booleans()))
@examples(60)
def test_no_chains_are_fewer(points: list[tuple[int, int]], strict: tuple[bool, bool]) -> None:
    table = pa.table({name: pa.array([row[k] for row in points], pa.int64()) for k, name in enumerate("ab")})
    rows, _ = tracked(table, len(points))
    index = OrderIndex(rows, (0, 1), strict=strict)

    def apart(one: tuple[int, int], two: tuple[int, int]) -> bool:
        """Whether two rows can never be in one chain."""
        ways = [
            all(x < y or (x == y and not only) for x, y, only in zip(*both, strict, strict=True))
            for both in ((one, two), (two, one))
        ]
        return one != two and not any(ways)

    distinct = sorted(set(points))
    widest = 0  # by Dilworth's theorem, the most rows of which no two can be in one chain
    for chosen in range(1 << len(distinct)):
        some = [one for n, one in enumerate(distinct) if chosen >> n & 1]
        if len(some) > widest and all(apart(a, b) for n, a in enumerate(some) for b in some[:n]):
            widest = len(some)
    assert index.rank == widest


@given(st.integers(0, 511))
@examples(20)
def test_what_is_wanted_can_be_turned(wanted: int) -> None:
    pairs = {(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if wanted >> (3 * (x + 1) + y + 1) & 1}

    def bits(some: set[tuple[int, int]]) -> int:
        return sum(1 << (3 * (x + 1) + y + 1) for x, y in some)

    assert turned(wanted) == bits({(x, -y) for x, y in pairs})
    assert negated(wanted) == bits({(-x, -y) for x, y in pairs})
    assert exchanged(wanted) == bits({(y, x) for x, y in pairs})


def test_crossed_columns_need_two_indexes_and_plain_ones_one() -> None:
    same = int(BOTH[LESS, LESS] | BOTH[GREATER, GREATER])
    visits, within = visits_of({(0, 1): same}, [SlotColumns(0, 0), SlotColumns(1, 1)])
    assert [(one.index, one.asking, one.wanted) for one in visits] == [((0, 1), (0, 1), same)]
    assert [one.wanted for one in within] == [int(BOTH[GREATER, GREATER])]  # each pair of a batch once
    crossed, within = visits_of({(0, 1): int(BOTH[LESS, GREATER])}, [SlotColumns(3, 1), SlotColumns(2, 0)])
    assert [(one.index, one.asking, one.wanted) for one in crossed] == [
        ((2, 3), (0, 1), int(BOTH[GREATER, LESS])),
        ((0, 1), (2, 3), int(BOTH[LESS, GREATER])),
    ]
    assert within == crossed[:1]  # every row of a batch asks as t for others as s


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_signs_refuse_no_pair_that_a_box_holds(nulls: str) -> None:
    cells = [None, 1, 2, None, 3]
    table = pa.table({"a": pa.array(cells, pa.int64()), "b": pa.array([None if c is None else str(c) for c in cells])})
    rows, _ = tracked(table, len(cells), nulls=nulls)
    space = rows.space
    full = [slot.kind.full for slot in space.slots]
    pairs = np.array([(s, t) for s in range(len(cells)) for t in range(len(cells)) if s != t])
    points = rows.layout.points(clues_of(rows.facts(pairs[:, 0], pairs[:, 1]), np.arange(20), np.arange(20)))[:20]
    seen = 0
    for k, slot in enumerate(space.slots):
        for mask in slot.kind.conjunctions:
            box = space.boxes(np.array([[*full[:k], mask, *full[k + 1 :]]], np.uint8))
            signs = int(Demands.of(space, rows, box).signs[0, k])
            for (s, t), point in zip(pairs.tolist(), points, strict=True):
                if not (point & ~box[0]).any():
                    difference = int(np.sign(int(rows.codes[s, k]) - int(rows.codes[t, k])))
                    assert signs >> (difference + 1) & 1
                    seen += 1
    assert seen


def test_an_index_reads_codes_again_that_have_moved() -> None:
    table = pa.table({"a": [100, 200, 300], "b": [30, 20, 10]})
    options = options_of(cross_columns=False)
    space, _ = space_for(LocalTable(Relation.of(table)), options)
    rows = TrackedRows(space, options.nulls, {name: pa.int64() for name in "ab"}, span=16)
    first = rows.coded(Relation.of(table))
    assert first is not None
    rows.take_in(first[0], Relation.of(table), np.arange(3))
    index = OrderIndex(rows, (0, 1), falling=True)
    more = Relation.of(pa.table({"a": list(range(101, 113)), "b": [15] * 12}))
    coded = rows.coded(more)
    assert coded is not None
    assert coded[1]
    coming = rows.take_in(coded[0], more, np.arange(3, 15))
    index.recode()
    ranges = index.fetch(coming, (0, 1), int(BOTH[GREATER, LESS]))
    met = {(int(a) + 101, int(index.members[m])) for a, _, begin, end in ranges for m in range(begin, end)}
    assert met == {(a, 2) for a in range(101, 113)}


def finder_of(tracking: Tracking) -> IndexFinder:
    assert isinstance(tracking.residual, IndexFinder)
    return tracking.residual


def test_indexes_are_built_anew_once_rows_have_grown_by_their_share() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.permutation(400), rng.permutation(400)
    table = pa.table({"a": a, "b": b, "sum": a + b})

    def excess(growth: float) -> list[int]:
        """How many chains indexes have beyond the fewest, after each batch."""
        start = Relation.of(table.slice(0, 200))
        ways = Ways(incdc=Thresholds(growth=growth))
        tracking = Tracking(start, np.arange(200), options_of(operators=["<", ">"], cross_columns=False), ways=ways)
        orders = finder_of(tracking).orders
        assert orders
        found = []
        for first in range(200, 400, 40):
            batch, slots = Relation.of(table.slice(first, 40)), np.arange(first, first + 40)
            tracking.change(np.empty(0, np.int64), batch, slots, lambda: pytest.fail("no need"))
            orders = finder_of(tracking).orders
            fewest = [OrderIndex(tracking.rows, one.columns, falling=one.falling).rank for one in orders.values()]
            found.append(sum(one.rank for one in orders.values()) - sum(fewest))
        return found

    kept, anew = excess(9.0), excess(0.3)
    assert kept[0] == anew[0] > 0  # 20 % are not enough
    assert min(kept) > 0
    assert anew[1] == anew[4] == 0 < anew[3]  # 280 rows are 30 % more than 200, 400 than 280, but 360 are not


def test_candidates_are_only_pairs_that_an_index_gives() -> None:
    table = pa.table({"a": list(range(100)), "b": [3 * n for n in range(100)]})
    ways = Ways(incdc=Thresholds())
    tracking = Tracking(Relation.of(table), np.arange(100), options_of(cross_columns=False), ways=ways)
    batch = Relation.of(pa.table({"a": [200, 50], "b": [600, 151]}))
    tracking.change(np.empty(0, np.int64), batch, np.arange(100, 102), lambda: pytest.fail("no need"))
    # of 201 pairs, only that of two rows with one value of a breaks what held
    assert finder_of(tracking).candidates < 5


def test_all_methods_of_a_tracker_give_the_same_rules() -> None:
    start = TAX.slice(0, 7)
    trackers = [rf.Tracker(start, method=method) for method in ("auto", "tiles", "guided", "hydra", "incdc")]
    assert len({frozenset(rule.text for rule in one.rules) for one in trackers}) == 1
    broken = [sorted(rule.text for rule in one.insert(TAX.slice(7)).broken) for one in trackers]
    assert all(one == broken[0] for one in broken)
    assert broken[0]
    gone = [sorted(rule.text for rule in one.delete([7, 8]).added) for one in trackers]
    assert all(one == gone[0] for one in gone)
    assert len({frozenset(rule.text for rule in one.rules) for one in trackers}) == 1


def test_a_method_that_is_unknown_or_does_not_fit_is_refused() -> None:
    with pytest.raises(OptionError, match="'incdc'") as unknown:
        rf.Tracker(TAX, method="incd")
    assert unknown.value.facts["known"] == ("auto", "tiles", "guided", "hydra", "incdc")
    with pytest.raises(OptionError, match="error= needs all pairs"):
        rf.Tracker(TAX, method="incdc", error=0.1)
    with pytest.raises(OptionError, match="almost= needs all pairs"):
        rf.Tracker(TAX, method="incdc", almost=3)


def test_an_index_serves_no_rule_that_asks_nothing_of_its_column() -> None:
    """Rows that are null there are not in it, and may break that rule."""
    operands = (SlotColumns(0, 0), SlotColumns(1, 1))
    demands = Demands(np.array([[False, True]]), np.array([[ANY, 2]], np.uint8), operands)
    chosen = Selection(falling={(0, 0): False}, uses={(0, 0): int(BOTH[ANY, ANY])})
    assert not chosen.serves(demands).any()
    assert chosen.serves(Demands(demands.equal, np.array([[5, 2]], np.uint8), operands)).all()


def test_an_order_alone_is_served_by_an_index_of_one_column() -> None:
    table = pa.table({"a": [1, 2, 3, 4], "b": [4, 5, 6, 7]})
    options = options_of(shared_values=0.0, average_ratio=0.0, operators=["<", ">"])
    tracking = Tracking(Relation.of(table), np.arange(4), options, ways=Ways(incdc=Thresholds(distinct=2.0)))
    assert any(k == m for k, m in finder_of(tracking).selection.uses)  # not (s.a > t.b)
    step = tracking.change(
        np.empty(0, np.int64), Relation.of(pa.table({"a": [11], "b": [50]})), np.array([4]), lambda: pytest.fail("none")
    )
    assert len(step.fresh)
