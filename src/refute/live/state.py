"""What a monitor knows at one moment, and how a change of rows changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.detect.detector import Detector
from refute.errors import DataError
from refute.kernels.runs.pairs import bits_of
from refute.language.rulebook import Rule
from refute.live.among import among, insert, joined
from refute.live.arrivals import refuse_keys, refuse_nulls, repeated
from refute.live.columns import ReadRows
from refute.live.frame import Frame
from refute.live.indexes.index import Batch, Found, Index, Longs
from refute.live.rows import Alive, Rows, Segment
from refute.live.store import Clashing, Violated, net
from refute.relation import Relation
from refute.relation.keys.key_index import KeyIndex

if TYPE_CHECKING:
    from refute.live.engine import LiveEngine

Mask = NDArray[np.bool_]
NOTHING: Longs = np.empty(0, np.int64)
NOTHING_FOUND = Found(0, (NOTHING, NOTHING))
ALL = 1 << 62  # a limit for pairs that nothing reaches


@dataclass(slots=True)
class Change:
    """Rows that go and rows that come, and, once it has been carried out, what that did."""

    frame: Frame
    gone: Longs  # slots
    coming: ReadRows  # the rows that come
    links: Longs | None = None  # row `links[i]` comes in the place of `gone[i]`, for as many as there are
    rows: tuple[Rows, Rows] = field(init=False)  # before and after
    counts: dict[str, int] = field(init=False)
    deltas: dict[str, tuple[int, int]] = field(init=False)
    pairs: dict[str, tuple[Clashing, Clashing]] = field(init=False)

    @property
    def table(self) -> pa.Table:
        """The rows that come."""
        return self.coming.table


class State:
    """Rows by slot, the indexes over them, and the violations of each rule. Not for several threads at once.

    What could be refused is refused while a change is prepared; nothing has been touched then.
    """

    def __init__(self, rules: Sequence[Rule], key: Sequence[str], method: str, most: int) -> None:
        self.rules = tuple(rules)
        self.key = tuple(key)
        self.method = method
        self.most = most
        self.stores = [Violated(1 if rule.constraint.is_single_row else 2, most) for rule in self.rules]
        self.frame: Frame | None = None
        self.rows = Rows(pa.schema([]))
        self.alive: Alive = np.zeros(1 << 10, np.uint8)
        self.n_rows = 0
        self.next_slot = 0
        self._dead = 0  # rows that went since dead ones were last let go
        self.version = 0
        self.seen: tuple[int, LiveEngine] | None = None  # an engine, and the version that it is of

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return None if self.frame is None else self.frame.schema

    def known_schema(self) -> pa.Schema:
        """The same; raises DataError before the first rows have come."""
        if self.frame is None:
            raise DataError("The monitor has no rows yet. Insert some first.")
        return self.frame.schema

    @property
    def nbytes(self) -> int:
        """The memory of rows, indexes, keys and violations."""
        own = self.rows.nbytes + self.alive.nbytes + sum(store.nbytes for store in self.stores)
        return own + (0 if self.frame is None else self.frame.nbytes)

    def inserting(self, table: pa.Table) -> Change:
        """The change that adds these rows; raises DataError where a key is null, comes twice, or already exists."""
        frame, rows = self.frame_for(table.schema), ReadRows(table, is_whole=True)
        if self.key:
            self.expect(table)
            keys, valid = frame.columns.key_lines(rows, extend=True)
            refuse_nulls(self.key, valid)
            if len(keys) > 1:
                refuse_keys(table, self.key, repeated(keys), "These keys are listed more than once")
            refuse_keys(table, self.key, frame.find(keys, self) >= 0, "Rows with these keys already exist")
        return Change(frame, NOTHING, rows)

    def deleting(self, keys: pa.Table | Longs) -> Change:
        """The change that takes the rows of these keys away; raises DataError for one that has none, or comes twice."""
        frame = self._known_frame()
        slots = self.slots_of(keys) if isinstance(keys, pa.Table) else self._numbered(keys)
        return Change(frame, slots, ReadRows(frame.no_rows))

    def updating(self, table: pa.Table) -> Change:
        """The change that puts rows in the place of those with their keys; raises DataError as `deleting` does."""
        rows = ReadRows(table, is_whole=True)
        return Change(self.frame_for(table.schema), self.slots_of(table), rows, np.arange(len(table)))

    def slots_of(self, keys: pa.Table) -> Longs:
        """The slot of each key; raises DataError where there is none, and for a key that comes twice."""
        frame = self._known_frame()
        if any(pa.types.is_null(frame.schema.field(name).type) for name in self.key):  # so no row has a key
            refuse_keys(keys, self.key, np.ones(len(keys), np.bool_), "There are no rows with these keys")
        self.expect(keys)
        lines, valid = frame.columns.key_lines(ReadRows(keys), extend=False)
        refuse_nulls(self.key, valid)
        slots = frame.find(lines, self)
        refuse_keys(keys, self.key, slots < 0, "There are no rows with these keys")
        if len(keys) > 1:
            refuse_keys(keys, self.key, repeated(slots[:, None]), "These keys are listed more than once")
        return slots

    def carry_out(self, change: Change) -> None:
        """Changes all that a change concerns. Where that fails, or is interrupted, all is as it was.

        Indexes are then made again from the rows.
        """
        gone = np.sort(change.gone) if len(change.gone) else NOTHING
        came = np.arange(self.next_slot, self.next_slot + len(change.coming))
        arriving = self._arriving(change, came)
        frame, rows, alive = self.frame, self.rows, self.alive
        numbers = self.n_rows, self.next_slot, self.version
        stores = [store.copy() for store in self.stores]
        try:
            self._take_in(change, gone, came, arriving)
        except BaseException:
            self.frame, self.rows, self.alive, self.stores = frame, rows, alive, stores
            self.n_rows, self.next_slot, self.version = numbers
            self.alive[gone] = 1
            self.alive[self.next_slot :] = 0
            for one in (change.frame, frame):
                if one is not None:
                    one.lose()
            raise

    def _arriving(self, change: Change, came: Longs) -> tuple[Batch, set[str]] | None:
        """The rows that come, as integers; raises DataError for a value that has none, before anything has changed."""
        change.frame.ready(self)  # first, as it may know values in another order
        if not len(came):
            return None
        return change.frame.columns.batch(change.coming, came, extend=True)

    def _take_in(self, change: Change, gone: Longs, came: Longs, arriving: tuple[Batch, set[str]] | None) -> None:
        """Carries a change out; where that fails, part of it is done."""
        frame = change.frame
        added, removed = self._asked(change, gone, came, arriving)
        self.frame = frame
        self.alive = self._reached(self.next_slot + len(came))
        same = self.rows.schema is frame.schema or self.rows.schema.equals(frame.schema)
        was = self.rows if same else self.rows.cast(frame.schema)
        if len(gone):
            self.alive[gone] = 0
        self.alive[self.next_slot : self.next_slot + len(came)] = 1
        self.next_slot += len(came)
        self.n_rows += len(came) - len(gone)
        self._dead += len(gone)
        self.rows = was
        if 4 * self._dead > self.n_rows:
            self.rows, self._dead = was.without_dead(self.alive), 0
        self.rows = self.rows.with_more(change.table, came, self.alive)
        self.version += 1
        self.seen = None  # so that what was found of the rows before does not outlast them
        links = change.links
        moved = None if links is None else (change.gone[: len(links)], came[links])
        self._record(change, added, removed, moved)
        change.rows = (was, self.rows)

    def with_key(self, key: Sequence[str]) -> State:
        """A state without rows whose rows will have another key. This one stays."""
        assert self.frame is None
        found = State(self.rules, key, self.method, self.most)
        found.version = self.version + 1
        return found

    def with_rules(self, rules: Sequence[Rule]) -> State:
        """A state of the same rows under other rules; raises SchemaError for one that does not fit. This one stays."""
        found = State(rules, self.key, self.method, self.most)
        found.rows, found.alive = self.rows, self.alive.copy()
        found.n_rows, found.next_slot, found.version = self.n_rows, self.next_slot, self.version + 1
        if self.frame is None:
            return found
        found.frame = Frame.of(self.frame.schema, rules, self.key, self.method)
        found.frame.lose()
        found.frame.ready(found)  # so it is on the disk with the rules, and not made again when that is opened
        slots, table = self.living()
        detector = Detector(Relation.of(table))
        known = dict(zip(self.rules, self.stores, strict=True))
        for number, rule in enumerate(rules):
            if rule in known:
                found.stores[number] = known[rule].copy()
            else:
                found.stores[number].fill(detector, rule, slots)
        return found

    def replay(self, gone: Longs, table: pa.Table) -> None:
        """Carries out a change that was prepared before and is known to be right."""
        frame = self.frame_for(table.schema) if len(table) or self.frame is None else self.frame
        self.carry_out(Change(frame, gone, ReadRows(table)))

    def supposed(self, table: pa.Table) -> Change:
        """What would change if these rows came. Nothing does."""
        if self.frame is None:
            trial = State(self.rules, self.key, self.method, self.most)
            change = trial.inserting(table)
            trial.carry_out(change)
            return change
        frame = self.frame_for(table.schema)
        rows = ReadRows(table)
        came = np.arange(self.next_slot, self.next_slot + len(table))
        if self.key:
            kinds = {name: table.schema.field(name).type for name in self.key}
            KeyIndex(kinds).add({name: table.column(name) for name in self.key}, came)
            frame.ready(self)
            keys, _ = frame.columns.key_lines(rows, extend=False)
            refuse_keys(table, self.key, frame.find(keys, self) >= 0, "Rows with these keys already exist")
        change = Change(frame, NOTHING, rows)
        found = self.met(frame, rows, came, [ALL] * len(self.rules))
        detector = Detector(rows.relation)
        change.counts, change.deltas, change.pairs = {}, {}, {}
        for number, (rule, store) in enumerate(zip(self.rules, self.stores, strict=True)):
            own = among(detector, rule, came, ALL)
            pairs = (joined(found[number], own) if number in found else own).pairs
            assert pairs is not None, "nothing is too much to suppose"
            clashing = pairs[: store.sides]
            change.pairs[rule.name] = clashing, tuple([NOTHING] * store.sides)
            change.deltas[rule.name] = len(clashing[0]), 0
            change.counts[rule.name] = store.count + len(clashing[0])
        new = [Segment(came, table)] if len(came) else []
        change.rows = self.rows, Rows(self.rows.schema, (*self.rows.segments, *new))
        return change

    def met(self, frame: Frame, rows: ReadRows, slots: Longs, limits: Sequence[int]) -> dict[int, Found]:
        """The pairs of rows that are here with others, as if these came with slots behind all; by the places of rules.

        Rules about one row have none. `limits` are by rule. Nothing changes.
        """
        frame.ready(self)
        batch, nulls = frame.columns.batch(rows, slots, extend=False)
        frame.note(nulls)
        found = frame.ready(self).probe(batch, [limits[number] for number in frame.columns.numbers])
        return dict(zip(frame.columns.numbers, found, strict=True))

    def expect(self, keys: pa.Table) -> None:
        """Hears of keys before rows are looked up by them. Whoever keeps rows elsewhere has time to bring them here."""

    def taken(self, slots: Longs, names: Sequence[str]) -> pa.Table:
        """Some columns of the rows of these slots, in their order."""
        return self.rows.take(slots, names)

    def living(self) -> tuple[Longs, pa.Table]:
        """The slots and rows of this moment, in the order in which they came."""
        return self.rows.living(self.alive)

    def frame_for(self, schema: pa.Schema) -> Frame:
        """The frame for rows of these columns; raises SchemaError where rules or the key do not fit them."""
        if self.frame is None:
            return Frame.of(schema, self.rules, self.key, self.method)
        return self.frame if self.frame.schema.equals(schema) else self.frame.widened(schema)

    def _known_frame(self) -> Frame:
        self.known_schema()
        assert self.frame is not None
        return self.frame

    def _numbered(self, numbers: Longs) -> Longs:
        """The numbers of rows, each of which must be alive."""
        wrong = (numbers < 0) | (numbers >= self.next_slot)
        wrong |= self.alive[np.where(wrong, 0, numbers)] == 0
        for row in numbers[wrong][:1]:
            raise DataError(f"There is no row {row:,}. Nothing was changed.", row=int(row))
        for row in numbers[repeated(numbers[:, None])][:1]:
            raise DataError(f"Row {row:,} is listed more than once. Nothing was changed.", row=int(row))
        return numbers

    def _asked(
        self, change: Change, gone: Longs, came: Longs, arriving: tuple[Batch, set[str]] | None
    ) -> tuple[list[Found], list[Found]]:
        """What the indexes say of rows that go and of rows that come, as they take them in."""
        frame = change.frame
        new = change.coming
        batch = None
        if arriving is not None:
            batch, nulls = arriving
            frame.note(nulls)
        index = frame.ready(self)
        old = self._going(frame, gone) if len(gone) else None
        two_row = [self.stores[number] for number in frame.columns.numbers]
        added = removed = [NOTHING_FOUND] * len(two_row)
        if old is not None:
            leaving, _ = frame.columns.batch(old, gone, extend=False)
            removed = self._vanishing(index, leaving, gone, two_row)
            frame.forget_keys(old)
        if batch is not None:
            limits = [
                store.room + one.count if store.is_listed else 0 for store, one in zip(two_row, removed, strict=True)
            ]
            added = insert(index, batch, new, frame.columns.followed, limits)
            frame.keep_keys(new, came)
        if len(two_row) == len(self.rules):
            return added, removed
        return self._with_single(frame, new, came, added), self._with_single(frame, old, gone, removed)

    def _vanishing(self, index: Index, batch: Batch, gone: Longs, stores: Sequence[Violated]) -> list[Found]:
        """The pairs that rows take along: looked for among those that are kept, if these are few, else by the index."""
        few = [store.is_worth_a_look(len(gone)) for store in stores]
        limits = [-1 if one else ALL if store.is_listed else 0 for one, store in zip(few, stores, strict=True)]
        found = index.delete(batch, limits)
        rows = np.zeros((len(self.alive) >> 6) + 1, np.uint64)
        bits_of(gone, rows)
        known = [store.going(rows, self.alive) if one else None for one, store in zip(few, stores, strict=True)]
        return [own or other for own, other in zip(known, found, strict=True)]

    def _going(self, frame: Frame, slots: Longs) -> ReadRows:
        """The rows of these slots, with the columns that matter."""
        table = self.rows.take(slots, frame.columns.names)
        wanted = pa.schema([frame.schema.field(name) for name in frame.columns.names])
        return ReadRows(table if table.schema.equals(wanted) else table.cast(wanted))

    def _with_single(self, frame: Frame, rows: ReadRows | None, slots: Longs, two_row: Sequence[Found]) -> list[Found]:
        """What was found for each rule, rules about one row included; nothing for those that nothing can violate."""
        found = dict(zip(frame.columns.numbers, two_row, strict=True))
        each = []
        for number, rule in enumerate(self.rules):
            own = NOTHING
            if self.stores[number].sides == 1 and rows is not None:
                own = slots[violating_rows(rows.relation, rule)]
            each.append(found.get(number, Found(len(own), (own, own))))
        return each

    def _record(
        self, change: Change, added: list[Found], removed: list[Found], moved: tuple[Longs, Longs] | None
    ) -> None:
        """Takes in what was found, and writes it into the change."""
        change.counts, change.deltas, change.pairs = {}, {}, {}
        for rule, store, came, went in zip(self.rules, self.stores, added, removed, strict=True):
            listed = store.is_listed and came.pairs is not None and went.pairs is not None
            new = None if came.pairs is None else came.pairs[: store.sides]
            old = None if went.pairs is None else went.pairs[: store.sides]
            if went.count:
                store.remove(went.count, self.alive)
            store.add(came, new if listed else None, self.next_slot)
            if listed and new is not None and old is not None:
                if moved is not None:
                    new, old = net(new, old, moved)
                change.pairs[rule.name] = new, old
                change.deltas[rule.name] = len(new[0]), len(old[0])
            else:
                more = came.count - went.count
                change.deltas[rule.name] = max(more, 0), max(-more, 0)
            change.counts[rule.name] = store.count

    def _reached(self, slots: int) -> Alive:
        """The flags of all rows, with room for so many slots."""
        if slots <= len(self.alive):
            return self.alive
        wider = np.zeros(max(slots, 2 * len(self.alive)), np.uint8)
        wider[: len(self.alive)] = self.alive
        return wider


def violating_rows(relation: Relation, rule: Rule) -> Mask:
    """The rows that violate a rule about one row."""
    masks = [relation.mask(predicate, rule.nulls) for predicate in rule.constraint.predicates]
    if rule.where is not None:
        masks.append(relation.condition_mask(rule.where))
    found: Mask = np.logical_and.reduce(masks)
    return found
