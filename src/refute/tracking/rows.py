"""The rows that a tracker compares: integers row by row, in the layout of its predicate space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.discovery.evidence.codebook import row_states
from refute.discovery.space.clue_layout import ClueLayout, layout_of, row_key
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.kernels.evidence.clues import STRETCH, Facts
from refute.kernels.evidence.members import KeptRows
from refute.language.nulls import Nulls
from refute.language.predicate import Column
from refute.relation import Relation
from refute.relation.keys.encoding import Encoding
from refute.tracking.codes import NULL, Codes, Ints, Longs

_ROOM = 1 << 10
_MANY = 1 << 15  # rows from which texts that repeat are numbered first
_SAMPLE = 1 << 12  # rows that say whether they do
_REPEATED = 4  # times, there


class Coded(NamedTuple):
    """Rows as integers, before they are taken in."""

    codes: Ints  # (n, columns that are compared across rows)
    missing: NDArray[np.bool_]  # (n, columns that are read) where null is
    nulls: frozenset[str]  # columns in which some row is null


class _Layout(NamedTuple):
    """The comparisons of a clue, as kernels want them."""

    s_columns: Longs  # (F,)
    t_columns: Longs  # (F,)
    word: Longs
    less: Ints
    equal: Ints


class TrackedRows:
    """Rows numbered from 0 in the order in which they came, dead ones included until they are let go.

    What a row is in the columns of the space is kept as codes that compare as its values do, and as its state in each
    comparison within one row. The bits that it adds to clues follow from these and from the layout of the space.
    """

    def __init__(
        self,
        space: PredicateSpace,
        nulls: Nulls,
        types: Mapping[str, pa.DataType],
        *,
        span: int = 0,
        encodings: Mapping[tuple[str, ...], Encoding] | None = None,
    ) -> None:
        """No rows so far; `encodings` are those that were kept, by their columns, if some were."""
        self.nulls = nulls
        pairs = [slot for slot in space.slots if slot.is_pair]
        self.names = tuple(dict.fromkeys(name for slot in pairs for name in slot.columns))
        self.at = {name: place for place, name in enumerate(self.names)}
        self._read = tuple(dict.fromkeys(name for slot in space.slots for name in slot.columns))
        self._read_at = {name: place for place, name in enumerate(self._read)}
        self._groups = _compared(pairs, self.names)
        ordered = {name for slot in pairs if slot.kind.is_ordered for name in slot.columns}
        self._ordered = {group: any(name in ordered for name in group) for group in self._groups.values()}
        kept = encodings or {}
        self.encodings = {g: kept.get(g) or Encoding(types[name] for name in g) for g in self._ordered}
        self._codes = {group: Codes(span) if span else Codes() for group in self._ordered}
        self._single = {row_key(slot): slot for slot in space.slots if not slot.is_pair}
        self.n = 0
        self.n_alive = 0  # without those that are gone
        self.alive: NDArray[np.bool_] = np.zeros(_ROOM, np.bool_)
        self.slots: Longs = np.zeros(_ROOM, np.int64)
        self.codes: Ints = np.zeros((_ROOM, len(self.names)), np.int32)
        self.states: NDArray[np.uint8] = np.zeros((_ROOM, len(self._single)), np.uint8)
        self.null_counts: dict[str, int] = dict.fromkeys(self._read, 0)
        self._missing: NDArray[np.bool_] = np.zeros((_ROOM, len(self._read)), np.bool_)
        self._ever_null: set[str] = set()
        self._lay(space)

    @property
    def living(self) -> Longs:
        """The numbers of the rows that are there now."""
        return np.flatnonzero(self.alive[: self.n])

    @property
    def nullable(self) -> frozenset[str]:
        """The columns in which some row is null now."""
        return frozenset(name for name, count in self.null_counts.items() if count)

    @property
    def nbytes(self) -> int:
        """The memory of all rows."""
        held = (self.alive, self.slots, self.codes, self.states, self._missing, self.s_bits, self.t_bits)
        return sum(one.nbytes for one in held)

    def coded(self, relation: Relation) -> tuple[Coded, frozenset[int]] | None:
        """The rows as integers, and the columns whose codes have moved; None where keys themselves have.

        Raises an error for a value that has no key, before anything has changed.
        """
        generations = [encoding.generation for encoding in self.encodings.values()]
        found = [
            self.encodings[group].codes(_with_few(relation.column(name)), ordered=self._ordered[group], extend=True)
            for name, group in self._groups.items()
        ]
        if generations != [encoding.generation for encoding in self.encodings.values()]:
            return None
        missing = np.zeros((relation.n_rows, len(self._read)), np.bool_)
        nulls = {name for name in self._read if relation.null_count(name)}
        for name in nulls:
            missing[:, self._read_at[name]] = relation.is_null(name)
        moved: set[int] = set()
        codes = np.zeros((relation.n_rows, len(self.names)), np.int32)
        for group, one in self._codes.items():
            members = [self.at[name] for name in group]
            held = partial(self._held, members)
            keys = [found[place].values for place in members]
            if nulls.isdisjoint(group):
                ranks = partial(_ranks, relation, group[0]) if len(group) == 1 and self._ordered[group] else None
                part, change = one.of(keys[0] if len(keys) == 1 else np.concatenate(keys), held, ranks)
            else:
                valid = ~np.concatenate([missing[:, self._read_at[name]] for name in group])
                part = np.full(len(valid), NULL)
                part[valid], change = one.of(np.concatenate(keys)[valid], held)
            for number, place in enumerate(members):
                codes[:, place] = part[number * relation.n_rows : (number + 1) * relation.n_rows]
            if change is not None:
                moved.update(members)
                self.codes[: self.n, members] = change.of(self.codes[: self.n, members])
        return Coded(codes, missing, frozenset(nulls)), frozenset(moved)

    def _held(self, columns: list[int]) -> Ints:
        """The codes of all rows in some columns."""
        return self.codes[: self.n, columns].ravel()

    def codes_of(self, rows: Longs, columns: Sequence[int]) -> Ints:
        """The codes of some rows in some columns (rows, columns)."""
        return self.codes[rows[:, None], np.array(columns, np.int64)]

    def state_at(self, slot: Slot) -> int:
        """Where the states of rows in a comparison within one row are."""
        return list(self._single).index(row_key(slot))

    def holds_null(self, column: int) -> bool:
        """Whether a row that is there is null in a column of codes."""
        return bool(self.null_counts[self.names[column]])

    def may_be_null(self, column: int) -> bool:
        """Whether a row that is there, or has gone, may be null in a column of codes."""
        return self.names[column] in self._ever_null

    def widen(self, space: PredicateSpace) -> None:
        """Changes to the layout of a widened space."""
        self._lay(space)

    def take_in(self, coded: Coded, relation: Relation, slots: Longs) -> Longs:
        """Adds rows, which the space can distinguish; their numbers."""
        first, last = self.n, self.n + len(slots)
        self._reach(last)
        self.codes[first:last] = coded.codes
        for place, slot in enumerate(self._single.values()):
            self.states[first:last, place] = row_states(relation, slot)
        self._missing[first:last] = coded.missing
        self.slots[first:last] = slots
        self.alive[first:last] = True
        self.n_alive += len(slots)
        self._ever_null |= coded.nulls
        for name in coded.nulls:
            self.null_counts[name] += int(np.count_nonzero(coded.missing[:, self._read_at[name]]))
        self.n = last
        self._write_bits(first, last)
        return np.arange(first, last)

    def numbers(self, slots: Longs) -> Longs:
        """The numbers of the rows of these slots."""
        return np.searchsorted(self.slots[: self.n], slots)

    def let_go(self, rows: Longs) -> None:
        """Marks rows as gone."""
        self.alive[rows] = False
        self.n_alive -= len(rows)
        for place, name in enumerate(self._read):
            if self.null_counts[name]:
                self.null_counts[name] -= int(np.count_nonzero(self._missing[rows, place]))

    def compact(self) -> Longs:
        """Lets rows that are gone be forgotten; the new number of each row, -1 for those."""
        living = self.living
        numbers = np.full(self.n, -1, np.int64)
        numbers[living] = np.arange(len(living))
        for name in ("slots", "codes", "states", "_missing"):
            held = getattr(self, name)
            held[: len(living)] = held[living]
        self.n = len(living)
        self.alive[: self.n] = True
        self.alive[self.n :] = False
        self._write_bits(0, self.n)
        return numbers

    @property
    def kept(self) -> KeptRows:
        """All rows as members of groups."""
        return KeptRows(self.codes, self.t_bits, self._told.t_columns)

    def facts(self, s_rows: Longs, t_rows: Longs | None = None) -> Facts:
        """The facts of some rows of side s, and of side t, or room for a stretch of them."""
        told = self._told
        s = np.ascontiguousarray(self.codes[s_rows[:, None], told.s_columns].T)
        s_bits = np.ascontiguousarray(self.s_bits[s_rows].T)
        if t_rows is None:
            t, t_bits = np.empty((len(s), STRETCH), np.int32), np.zeros((len(s_bits), STRETCH), np.int32)
        else:
            t = np.ascontiguousarray(self.codes[t_rows[:, None], told.t_columns].T)
            t_bits = np.ascontiguousarray(self.t_bits[t_rows].T)
        return Facts(s, t, told.word, told.less, told.equal, s_bits, t_bits)

    def table(self, rows: Longs) -> pa.Table:
        """Rows as a table of codes, which compare as the values do."""
        return pa.table({name: _nullable(self.codes[rows, place]) for place, name in enumerate(self.names)})

    def row_states(self, rows: Longs) -> dict[object, NDArray[np.uint8]]:
        """The states of rows in each comparison within one row."""
        return {key: self.states[rows, place] for place, key in enumerate(self._single)}

    def _lay(self, space: PredicateSpace) -> None:
        self.space = space
        self.layout: ClueLayout = layout_of(space)
        self._single = {row_key(slot): slot for slot in space.slots if not slot.is_pair}
        fields = self.layout.pairs
        self._told = _Layout(
            np.array([self.at[a] for a, _ in fields], np.int64),
            np.array([self.at[b] for _, b in fields], np.int64),
            np.array([field.word for field in fields.values()], np.int64),
            np.array([field.less for field in fields.values()], np.int32),
            np.array([field.equal for field in fields.values()], np.int32),
        )
        self.s_bits: Ints = np.zeros((len(self.alive), self.layout.words), np.int32)
        self.t_bits: Ints = np.zeros_like(self.s_bits)
        self._write_bits(0, self.n)

    def _write_bits(self, first: int, last: int) -> None:
        """What rows say about themselves in clues."""
        part = slice(first, last)
        self.s_bits[part] = 0
        self.t_bits[part] = 0
        for (a, b), field in self.layout.pairs.items():
            for name, bits in ((a, self.s_bits), (b, self.t_bits)):
                if field.null:
                    missing = self.codes[part, self.at[name]] == NULL
                    bits[part, field.word] |= np.where(missing, np.int32(field.null), np.int32(0))
        for place, key in enumerate(self._single):
            one = self.layout.rows[key]
            state = self.states[part, place].astype(np.int32)
            self.s_bits[part, one.word] |= state << np.int32(one.s_shift)
            self.t_bits[part, one.word] |= state << np.int32(one.t_shift)

    def _reach(self, rows: int) -> None:
        """Makes room for so many rows."""
        if rows <= len(self.alive):
            return
        size = max(rows, len(self.alive) * 5 // 4)
        for name in ("alive", "slots", "codes", "states", "_missing", "s_bits", "t_bits"):
            held = getattr(self, name)
            wider = np.zeros((size, *held.shape[1:]), held.dtype)
            wider[: self.n] = held[: self.n]
            setattr(self, name, wider)


def _ranks(relation: Relation, name: str) -> Longs:
    """The ranks of the values of a column that has no nulls, which a search asks for too."""
    return relation.encode(name, ordered=True, dense=True).values.astype(np.int64, copy=False)


def _with_few(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """The column in one piece, in which values are looked up once, and not first learnt and then looked up.

    Texts of many rows that repeat are numbered before that.
    """
    whole = column.combine_chunks() if column.num_chunks > 1 else column
    if len(whole) < _MANY or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return whole
    repeat = _REPEATED * len(whole.slice(0, _SAMPLE).unique()) < _SAMPLE
    return whole.dictionary_encode() if repeat else whole


def _compared(pairs: list[Slot], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """For each column, all those that it is compared with, by way of others too, in the order of the names."""
    group = {name: {name} for name in names}
    for slot in pairs:
        assert isinstance(slot.right, Column)
        both = group[slot.left.name] | group[slot.right.name]
        for name in both:
            group[name] = both
    return {name: tuple(one for one in names if one in group[name]) for name in names}


def _nullable(codes: Ints) -> pa.Array:
    """Codes as an Arrow array, in which null is null."""
    return pa.array(codes, mask=codes == NULL) if (codes == NULL).any() else pa.array(codes)
