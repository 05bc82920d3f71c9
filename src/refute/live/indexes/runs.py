"""The index `runs`: rows in sorted runs by what rules compare, probed by the rows that come or go."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from refute.index.levels import STANDARD, Levels, Merging, Upkeep
from refute.index.run import Alive, Asking, Bound, Few, Run, RunShape, lines_of
from refute.language.operators import Operator
from refute.live.indexes.index import Batch, Compared, Found, Longs, Pairs, Watched
from refute.relation.arrays import exact_sum
from refute.relation.masks.constants import UFUNCS
from refute.runtime.arrays import reused_pages

Key = tuple[tuple[int, ...], object]  # the columns that rows are grouped by, and what admits them

_MANY = 1 << 12  # rows of a batch that may make large merges due
_NOTHING: Longs = np.empty(0, np.int64)
_NO_PAIRS: Pairs = (_NOTHING, _NOTHING)
_NONE_FOUND = Found(0, _NO_PAIRS)


@dataclass
class _Store:
    """The rows that stand on one side of some rules, all of which ask for the same equalities."""

    rule: int  # one whose masks say which rows it holds
    side: int
    equal: tuple[int, ...]
    axes: list[int] = field(default_factory=list)
    levels: Levels = field(init=False)
    delta: Few | Run = field(init=False)  # the rows of the batch at hand

    @property
    def shape(self) -> RunShape:
        return RunShape(len(self.equal), len(self.axes))

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns of its lines, once all axes are known."""
        return *self.equal, *self.axes

    def built(self, batch: Batch) -> Few | Run:
        """The rows of a batch that it would hold."""
        mask, keys, slots = batch.admitted[self.rule][self.side], batch.keys, batch.slots
        columns = [keys[column] for column in self.columns]
        if mask is not None:
            columns, slots = [column[mask] for column in columns], slots[mask]
        return self.levels.of(lines_of(self.levels.shape, columns, slots))


@dataclass(frozen=True, slots=True)
class _Probe:
    """A rule asked from one side: rows that come stand there, and those they are held against in a store.

    Where all rows stand on both sides, it may be asked from both at once.
    """

    rule: int
    side: int  # 0: the rows that come stand as s
    own: _Store  # where the rows that come go themselves, in their role
    store: _Store
    asking: Asking
    both: Asking | None = None  # what asks from both sides, this one first

    @classmethod
    def of(cls, rule: int, side: int, own: _Store, store: _Store, compared: Sequence[Compared]) -> _Probe:
        """The probe of what is compared besides equalities, once all axes of both stores are known."""
        bounds: list[Bound] = []
        for one in compared:
            mine, theirs, op = (one.s, one.t, one.op.mirrored) if side == 0 else (one.t, one.s, one.op)
            bounds.append((store.axes.index(theirs), op, len(own.equal) + own.axes.index(mine)))
        return cls(rule, side, own, store, Asking.of(store.shape, bounds))

    def kept_pairs(self, alive: Alive, most: int) -> tuple[int, Pairs]:
        """The rows of the batch at hand and those that are kept: how many pairs, and which, s before t.

        More than `most`: some number.
        """
        lines = self.own.delta.lines  # in the order of their own store, so those of a group follow each other
        found, pairs = self.store.levels.pairs(self.both or self.asking, lines, alive, most)
        if found == 0 or found > most:
            return found, _NO_PAIRS
        first, second = pairs
        return found, (first, second) if self.side == 0 else (second, first)

    def own_pairs(self, alive: Alive, most: int) -> tuple[int, Pairs]:
        """As `kept_pairs`, for the rows of the batch at hand among themselves."""
        found, (first, second) = self.store.delta.pairs(self.asking, self.own.delta.lines, alive, most)
        return found, (first, second)


class RunsIndex:
    """Rows grouped by equalities and, in each group, sorted by one axis, with boxes over the others.

    Rules that ask for the same equalities of the same rows share groups and runs. Both roles of a row are probed,
    unless a rule is the same with `s` and `t` exchanged: then one is enough. What a row takes back of a rule is what it
    would bring if it came now, so a delete is an insert of lines that take rows back, before the probe.
    """

    def __init__(self, rules: Sequence[Watched], merging: Merging = STANDARD) -> None:
        self._merging = merging
        self._stores: dict[Key, _Store] = {}
        stores = [self._stores_of(number, rule) for number, rule in enumerate(rules)]
        self._probes = [_probes_of(number, rule, stores[number]) for number, rule in enumerate(rules)]
        self._mirrored = [_is_symmetric(rule) for rule in rules]
        self._rules = list(rules)
        self._upkeep = Upkeep()
        for store in self._stores.values():
            store.levels = Levels(store.shape, (), merging, self._upkeep)
        self._alive = np.zeros(1 << 10, np.uint8)
        self._at_hand: Batch | None = None

    @property
    def nbytes(self) -> int:
        """The memory of all runs."""
        return self._alive.nbytes + sum(store.levels.nbytes for store in self._stores.values())

    def runs(self) -> list[list[Run]]:
        """All runs, by what they are for: what is saved of the index."""
        return [store.levels.all_runs() for store in self._stores.values()]

    def restore(self, runs: Sequence[Sequence[Run]], alive: Alive) -> None:
        """Takes runs that were saved of an index of the same rules."""
        for store, own in zip(self._stores.values(), runs, strict=True):
            store.levels = Levels(store.shape, own, self._merging, self._upkeep)
        self._alive = alive.copy()

    def load(self, batch: Batch) -> None:
        """Adds rows without a look at pairs."""
        self._reach(batch)
        self._build(batch)
        self._keep(batch)

    def insert(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Adds rows; for each rule the pairs that appear."""
        self._reach(batch)
        self._build(batch)
        self._arrange(len(batch))
        found = self._found(batch, limits)
        self._keep(batch)
        return found

    def delete(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Takes rows away; for each rule the pairs that vanish."""
        self._build(batch)
        self._alive[batch.slots] = 0
        for store in self._stores.values():
            store.levels.add(store.delta.taken_back())
        self._arrange(len(batch))
        found = self._found(batch, limits)
        self._at_hand = None
        return found

    def probe(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """For each rule the pairs of the batch's rows with those that are kept, as if these came."""
        self._reach(batch)
        self._build(batch)
        return self._found(batch, limits, itself=False)

    def _stores_of(self, number: int, rule: Watched) -> tuple[_Store, _Store]:
        """The stores of both sides of a rule, with an axis for whatever it compares."""
        equal = sorted({(one.s, one.t) for one in rule.compared if one.op is Operator.EQ})
        stores = []
        for side in (0, 1):
            columns = tuple(pair[side] for pair in equal)
            store = self._stores.setdefault((columns, rule.filters[side]), _Store(number, side, columns))
            axes = [(one.s, one.t)[side] for one in _others(rule)]
            store.axes += dict.fromkeys(axis for axis in axes if axis not in store.axes)
            stores.append(store)
        return stores[0], stores[1]

    def _reach(self, batch: Batch) -> None:
        """Makes room for the slots of a batch."""
        most = int(batch.slots[-1]) + 1 if len(batch) else 0
        if most > len(self._alive):
            wider = np.zeros(max(most, 2 * len(self._alive)), np.uint8)
            wider[: len(self._alive)] = self._alive
            self._alive = wider

    def _keep(self, batch: Batch) -> None:
        self._alive[batch.slots] = 1
        with reused_pages() if len(batch) > _MANY else nullcontext():  # as each store may merge all that it has
            for store in self._stores.values():
                store.levels.add(store.delta)
        self._at_hand = None

    def _build(self, batch: Batch) -> None:
        """Makes the runs of a batch, once for all questions that follow."""
        if self._at_hand is not batch:
            for store in self._stores.values():
                store.delta = store.built(batch)
            self._at_hand = batch

    def _arrange(self, points: int) -> None:
        """Has the newest rows in order where many points will be held against them."""
        if points > self._merging.few:
            for store in self._stores.values():
                store.levels.arrange()

    def _found(self, batch: Batch, limits: Sequence[int], *, itself: bool = True) -> list[Found]:
        """For each rule the pairs of a batch with what is kept and, if asked for, with itself."""
        found = []
        for number, limit in enumerate(limits):
            pairs = self._pairs(number, batch, limit, itself) if limit > 0 else None
            if limit < 0 or pairs is _NO_PAIRS:
                found.append(_NONE_FOUND)
            elif pairs is None:
                count = self._counted(number, batch, itself=itself)
                found.append(Found(count, None if count else _NO_PAIRS))
            else:
                found.append(Found(len(pairs[0]), pairs))
        return found

    def _pairs(self, number: int, batch: Batch, limit: int, itself: bool) -> Pairs | None:
        """The pairs of a rule, unless they are too many."""
        parts: list[Pairs] = []
        mirrored = self._mirrored[number]
        for probe in self._probes[number]:
            most = limit // 2 if mirrored else limit
            found, pairs = probe.kept_pairs(self._alive, most)
            if found > most:
                return None
            limit -= 2 * found if mirrored else found
            if found:
                parts += [pairs, pairs[::-1]] if mirrored else [pairs]
        probe = self._probes[number][0]
        if itself and len(batch) > 1 and _meet(probe):
            before = self._alive[batch.slots]
            self._alive[batch.slots] = 1
            found, pairs = probe.own_pairs(self._alive, limit)
            self._alive[batch.slots] = before
            if found > limit:
                return None
            parts.append(pairs)
        if len(parts) > 1:
            return np.concatenate([s for s, _ in parts]), np.concatenate([t for _, t in parts])
        return parts[0] if parts else _NO_PAIRS

    def _counted(self, number: int, batch: Batch, *, itself: bool) -> int:
        """How many pairs there are, none of them listed."""
        total = 0
        for probe in self._probes[number]:
            kept = exact_sum(probe.store.levels.counts(probe.both or probe.asking, probe.own.delta.lines))
            total += 2 * kept if self._mirrored[number] else kept
        if itself:
            probe = self._probes[number][0]
            own = exact_sum(probe.store.delta.counts(probe.asking, probe.own.delta.lines))
            total += own - self._own_selves(number, batch)
        return total

    def _own_selves(self, number: int, batch: Batch) -> int:
        """How many rows of a batch satisfy all predicates of a rule with themselves: those are not pairs."""
        rule = self._rules[number]
        if not _may_pair_with_itself(rule):
            return 0
        held = np.ones(len(batch), np.bool_)
        for mask in batch.admitted[number]:
            held &= True if mask is None else mask
        for one in rule.compared:
            if one.is_cross_column:
                held &= UFUNCS[one.op](batch.keys[one.s], batch.keys[one.t])
        return int(np.count_nonzero(held))


def _others(rule: Watched) -> list[Compared]:
    """All but equalities, orders first: rows of a group ascend by what the first of them compares."""
    return sorted((one for one in rule.compared if one.op is not Operator.EQ), key=lambda one: not one.op.is_order)


def _meet(probe: _Probe) -> bool:
    """Whether some rows of the batch at hand may pair with each other."""
    delta = probe.store.delta
    return probe.own is not probe.store or delta.repeats_groups


def _probes_of(number: int, rule: Watched, stores: tuple[_Store, _Store]) -> list[_Probe]:
    """What is asked for a rule: from one side, from each, or from both at once."""
    s = _Probe.of(number, 0, stores[0], stores[1], _others(rule))
    if _is_symmetric(rule):
        return [s]
    t = _Probe.of(number, 1, stores[1], stores[0], _others(rule))
    both = s.asking.with_other(t.asking) if stores[0] is stores[1] else None
    return [s, t] if both is None else [replace(s, both=both)]


def _is_symmetric(rule: Watched) -> bool:
    """Whether a pair clashes just if it does with its rows exchanged."""
    same = all(not one.is_cross_column and one.op in (Operator.EQ, Operator.NE) for one in rule.compared)
    return same and rule.filters[0] == rule.filters[1]


def _may_pair_with_itself(rule: Watched) -> bool:
    return not any(not one.is_cross_column and one.op.is_strict for one in rule.compared)
