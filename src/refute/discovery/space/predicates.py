"""Which predicates are worth asking of a table: the rules of the papers, with their thresholds as options."""

from __future__ import annotations

from functools import cache
from itertools import combinations

from refute.discovery.options import Options
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.space.states import kind_of
from refute.discovery.space.turned import both_ways
from refute.discovery.table import SearchedTable
from refute.discovery.work import Look, unhurried
from refute.errors import OptionError
from refute.faults import unknown_column
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Row
from refute.relation import Family
from refute.relation.types import clash, constant_family


def predicate_space(
    table: SearchedTable, options: Options, look: Look = unhurried
) -> tuple[PredicateSpace, tuple[str, ...]]:
    """The slots to search, and a sentence for each thing that is left out; `look` may end it by an error.

    What the columns hold decides here, once: which of them hold values, share values with others or have frequent ones,
    and which hold nulls. From then on the space depends on nothing: `fitted` gives it to a table of other rows, and
    `PredicateSpace.widened` lets it distinguish the nulls that come later. Where pairs are counted, the space
    says of each what it is both ways.
    """
    names, notes = _columns(table, options)
    slots = [_slot(table, options, Column(Row.S, name), Column(Row.T, name)) for name in names]
    if options.cross_columns or options.one_row:
        for a, b, ordered in comparable_columns(table, names, options, look):
            if options.cross_columns:
                slots.append(_slot(table, options, Column(Row.S, a), Column(Row.T, b), ordered))
            if options.one_row:
                slots.extend(_slot(table, options, Column(r, a), Column(r, b), ordered) for r in Row)
    if options.constants:
        for name in names:
            least = max(1.0, options.constant_share * table.n_rows)
            for constant in table.frequent(name, options.constants, least):
                slots.extend(_slot(table, options, Column(row, name), constant) for row in Row)
    space = PredicateSpace(tuple(slot for slot in slots if slot.kind.operators))
    return both_ways(space) if options.counts_pairs else space, notes


def fitted(table: SearchedTable, space: PredicateSpace, options: Options) -> PredicateSpace:
    """The space as this table needs it: widened for the nulls that it holds, both ways where pairs are counted.

    Raises OptionError unless the columns are there, and compare as the space compares them.
    """
    nulls = options.nulls
    for slot in space.slots:
        if slot.kind.nulls is not nulls:
            raise OptionError(
                f"the given space was made for nulls={slot.kind.nulls.value!r}, not for {nulls.value!r}",
                option="nulls",
                value=nulls.value,
                expected=slot.kind.nulls.value,
            )
        for name in slot.columns:
            if name not in table.names:
                raise OptionError(
                    f"the given space uses column {name!r}, which the table does not have",
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
            f"the given space compares {left} with {right}, which cannot be compared", columns=slot.columns
        )
    if slot.kind.is_ordered and not all(
        is_ordered(table, kind.name) for kind in (left, *other) if kind.family is not Family.NULL
    ):
        raise OptionError(
            f"the given space orders column {left}, which holds no numbers, dates or timestamps",
            column=left.name,
            type=str(left.arrow_type),
        )


def _columns(table: SearchedTable, options: Options) -> tuple[list[str], tuple[str, ...]]:
    """The columns that can be compared, in the table's order, and what is said of the others."""
    wanted = list(table.names) if options.columns is None else list(options.columns)
    for name in wanted:
        if name not in table.names:
            raise unknown_column(name, table.names)
    names, notes = [], []
    for name in dict.fromkeys(table.names):
        if name not in wanted:
            continue
        if list(table.names).count(name) > 1:
            notes.append(f"column {name!r} was left out: the table has it more than once")
            continue
        kind = table.type_of(name)
        if kind.family is Family.UNSUPPORTED:
            notes.append(f"column {name!r} was left out: values of type {kind.arrow_type} cannot be compared")
        elif table.n_rows and table.null_count(name) == table.n_rows:
            notes.append(f"column {name!r} was left out: it holds no values")
        else:
            names.append(name)
    return names, tuple(notes)


def is_ordered(table: SearchedTable, name: str) -> bool:
    """Whether discovery orders the column: numbers, dates and timestamps, yes; all else is equal or not."""
    family = table.type_of(name).family
    return family.is_number or family.is_temporal


def _slot(table: SearchedTable, options: Options, left: Column, right: Column | Constant, ordered: bool = True) -> Slot:
    nullable = any(table.null_count(c.name) for c in (left, right) if isinstance(c, Column))
    kind = kind_of(
        ordered=ordered and is_ordered(table, left.name),
        nullable=nullable,
        nulls=options.nulls,
        operators=tuple(op for op in Operator if op in options.operators),
        binary=table.type_of(left.name).family is Family.BOOLEAN,
    )
    return Slot(left, right, kind)


def comparable_columns(
    table: SearchedTable, names: list[str], options: Options, look: Look = unhurried
) -> list[tuple[str, str, bool]]:
    """Pairs of columns of one type that share enough values, in the table's order, and whether order is asked too."""
    families = {name: table.type_of(name).family for name in names}
    shared: dict[tuple[str, str], float] = {}
    for family in dict.fromkeys(families.values()):
        peers = [name for name in names if families[name] is family]
        if len(peers) > 1:
            shared |= table.shared_values(peers, look)
    pairs = []
    mean = cache(lambda name: abs(table.mean(name)))
    for a, b in combinations(names, 2):
        if shared.get((a, b), 0.0) <= options.shared_values:
            continue
        comparable = not families[a].is_number
        if not comparable:
            look()
            first, second = sorted((mean(a), mean(b)))
            comparable = second == 0.0 or first / second > options.average_ratio
        pairs.append((a, b, comparable))
    return pairs
