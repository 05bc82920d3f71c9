"""What a predicate space compares, by name: what options ask of the columns of a table, answered once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

from refute.discovery.options import Options
from refute.discovery.table import SearchedTable
from refute.discovery.work import Look, unhurried
from refute.faults import unknown_column
from refute.language.predicate import Constant
from refute.relation import Family


@dataclass(frozen=True, slots=True)
class Subjects:
    """The columns that are compared, which two of them with each other, and constants.

    The columns follow from the schema. Two of them are compared where they share values, and constants are frequent
    ones: options say how many values and how frequent, and the table that they were selected from, which these are.
    """

    columns: tuple[str, ...]
    pairs: tuple[tuple[str, str, bool], ...] = ()
    """Two columns each, and whether one may be less than the other."""
    constants: tuple[tuple[str, Constant], ...] = ()


def subjects_of(table: SearchedTable, options: Options, look: Look = unhurried) -> tuple[Subjects, tuple[str, ...]]:
    """What the options select in a table, and a sentence for each column left out; `look` may end it by an error."""
    names, notes = _columns(table, options)
    pairs, constants = [], []
    if options.cross_columns or options.one_row:
        pairs = comparable_columns(table, names, options, look)
    if options.constants:
        least = max(1.0, options.constant_share * table.n_rows)
        constants = [(name, one) for name in names for one in table.frequent(name, options.constants, least)]
    return Subjects(tuple(names), tuple(pairs), tuple(constants)), notes


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
            notes.append(f"Column {name!r} was left out: the table has it more than once.")
            continue
        kind = table.type_of(name)
        if kind.family is Family.UNSUPPORTED:
            notes.append(f"Column {kind} was left out: its values cannot be compared.")
        else:
            names.append(name)
    return names, tuple(notes)
