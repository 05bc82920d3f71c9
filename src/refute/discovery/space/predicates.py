"""Which predicates are worth asking of a table: the rules of the papers, with their thresholds as options."""

from __future__ import annotations

from collections.abc import Mapping

from refute.discovery.options import Options
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.space.states import kind_of
from refute.discovery.space.subjects import Subjects, subjects_of
from refute.discovery.space.turned import both_ways
from refute.discovery.table import SearchedTable
from refute.discovery.work import Look, unhurried
from refute.errors import OptionError
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Row
from refute.relation import Family
from refute.relation.types import ColumnType, clash, constant_family


def predicate_space(types: Mapping[str, ColumnType], subjects: Subjects, options: Options) -> PredicateSpace:
    """The slots of a schema: no value is looked at, and every slot distinguishes nulls.

    Where the options select columns to compare with each other, or constants, by the values that a table holds, the
    subjects say which these are.
    """
    nullable = _Slots(types, options)
    slots = [nullable.slot(Column(Row.S, name), Column(Row.T, name)) for name in subjects.columns]
    for a, b, ordered in subjects.pairs:
        if options.cross_columns:
            slots.append(nullable.slot(Column(Row.S, a), Column(Row.T, b), ordered))
        if options.one_row:
            slots.extend(nullable.slot(Column(row, a), Column(row, b), ordered) for row in Row)
    for name, constant in subjects.constants:
        slots.extend(nullable.slot(Column(row, name), constant) for row in Row)
    return PredicateSpace(tuple(slot for slot in slots if slot.kind.operators))


def space_for(table: SearchedTable, options: Options, look: Look = unhurried) -> tuple[PredicateSpace, tuple[str, ...]]:
    """The slots to search in a table, and a sentence for each thing that is left out; `look` may end it by an error.

    That is the space of its schema without what says nothing of these rows: columns that hold no values, and states for
    nulls where there are none. From then on it depends on nothing: `fitted` gives it to a table of other rows, and
    `PredicateSpace.widened` lets it distinguish the nulls that come later. Where pairs are counted, the space says of
    each what it is both ways.
    """
    subjects, notes = subjects_of(table, options, look)
    space = predicate_space({name: table.type_of(name) for name in subjects.columns}, subjects, options)
    nulls = {name: table.null_count(name) for name in subjects.columns}
    empty = {name for name, count in nulls.items() if table.n_rows and count == table.n_rows}
    notes += tuple(f"Column {name!r} was left out: it holds no values." for name in subjects.columns if name in empty)
    held = PredicateSpace(tuple(slot for slot in space.slots if empty.isdisjoint(slot.columns)))
    narrow = held.narrowed({name for name, count in nulls.items() if not count})
    return both_ways(narrow) if options.counts_pairs else narrow, notes


def fitted(table: SearchedTable, space: PredicateSpace, options: Options) -> PredicateSpace:
    """The space as this table needs it: widened for the nulls that it holds, both ways where pairs are counted.

    Raises OptionError unless the columns are there, and compare as the space compares them.
    """
    nulls = options.nulls
    for slot in space.slots:
        if slot.kind.nulls is not nulls:
            raise OptionError(
                f"The given space was made for nulls={slot.kind.nulls.value!r}, not for {nulls.value!r}.",
                option="nulls",
                value=nulls.value,
                expected=slot.kind.nulls.value,
            )
        for name in slot.columns:
            if name not in table.names:
                raise OptionError(
                    f"The given space uses column {name!r}, which the table does not have.",
                    column=name,
                    known=tuple(table.names),
                )
        _check_types(table, slot)
    wider = space.widened({name for slot in space.slots for name in slot.columns if table.null_count(name)})
    return both_ways(wider) if options.counts_pairs else wider


def _check_types(table: SearchedTable, slot: Slot) -> None:
    """Raises OptionError unless the values of a slot compare in the way that the slot asks for."""
    left, *other = (table.type_of(name) for name in slot.columns)
    families = [kind.family for kind in (left, *other)]
    if isinstance(slot.right, Constant):
        families.append(constant_family(slot.right.value))
    if Family.UNSUPPORTED in families or clash(families[0], families[-1]) is not None:
        right = other[0] if other else slot.right.value if isinstance(slot.right, Constant) else left
        raise OptionError(
            f"The given space compares {left} with {right}, which cannot be compared.", columns=slot.columns
        )
    if slot.kind.is_ordered and not all(
        is_ordered(kind.family) for kind in (left, *other) if kind.family is not Family.NULL
    ):
        raise OptionError(
            f"The given space orders column {left}, which holds no numbers, dates or timestamps.",
            column=left.name,
            type=str(left.arrow_type),
        )


class _Slots:
    """Slots over the columns of a schema."""

    def __init__(self, types: Mapping[str, ColumnType], options: Options) -> None:
        self._types = types
        self._nulls = options.nulls
        self._operators = tuple(op for op in Operator if op in options.operators)

    def slot(self, left: Column, right: Column | Constant, ordered: bool = True) -> Slot:
        """The slot of two subjects, which distinguishes nulls."""
        family = self._types[left.name].family
        kind = kind_of(
            ordered=ordered and is_ordered(family),
            nullable=True,
            nulls=self._nulls,
            operators=self._operators,
            binary=family is Family.BOOLEAN,
        )
        return Slot(left, right, kind)


def is_ordered(family: Family) -> bool:
    """Whether discovery orders columns of the family: numbers, dates and timestamps, yes; all else is equal or not."""
    return family.is_number or family.is_temporal
