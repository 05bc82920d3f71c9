"""The columns of a space in forms that are small to ship and compare as before.

Whole numbers take the narrowest type that holds them. Texts are equal or not, so a hash stands for each, once it is
known that no two of the table's texts have the same one; where they are few, a small number stands for the hash.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.discovery.space.slots import PredicateSpace, Slot
from refute.errors import EngineError
from refute.language.predicate import Column, Constant
from refute.relation import Family

if TYPE_CHECKING:
    from refute.spark.discovery.table import SparkTable

COLUMN, VALUE, TIMES = "c", "v", "n"  # of a table of counted values: the column's place, a value, its count
_SEEDS = range(4)
_WIDTHS = (("tinyint", 7), ("smallint", 15), ("int", 31))


@dataclass(frozen=True, slots=True)
class Coding:
    """The coded rows, the names of their columns, the dictionaries of some, and the space over what stands there.

    The numbers of rows, where the table has them, are one more column.
    """

    frame: DataFrame
    names: tuple[str, ...]
    dictionaries: dict[str, NDArray[np.int64]]
    space: PredicateSpace


def coding_of(table: SparkTable, space: PredicateSpace) -> Coding:
    """The coding of the columns that a space reads."""
    read = {name for slot in space.slots for name in slot.columns}
    names = tuple(name for name in table.names if name in read)
    texts = [name for name in names if table.type_of(name).family is Family.STRING]
    seed, dictionaries = _hashing(table, _components(space, texts))
    columns = [
        (_hashed(table.value(name), seed) if name in texts else _narrowed(table, name)).alias(table.plain_of[name])
        for name in names
    ]
    slots = _with_codes(table, space, dictionaries, seed)
    if table.numbers is not None:
        columns.append(F.col(table.numbers))
        names = (*names, table.numbers)
    return Coding(table.frame.select(*columns), names, dictionaries, PredicateSpace(slots))


def _narrowed(table: SparkTable, name: str) -> SparkColumn:
    """A column that is not text; whole numbers in the narrowest type that holds them."""
    basics = table.basics(name)
    value = table.value(name)
    if table.type_of(name).family is Family.INTEGER and basics.low is not None and basics.high is not None:
        for kind, bits in _WIDTHS:
            if -(1 << bits) <= basics.low and basics.high < 1 << bits:
                return value.cast(kind)
    return value


def _hashed(value: SparkColumn, seed: int) -> SparkColumn:
    hashed = F.xxhash64(value) if seed == 0 else F.xxhash64(F.lit(seed), value)
    return F.when(value.isNotNull(), hashed)


def _hashing(table: SparkTable, components: list[list[str]]) -> tuple[int, dict[str, NDArray[np.int64]]]:
    """A seed for which no two texts that are compared have the same hash, and the dictionaries of columns of few."""
    sizes = [sum(table.spread(name).distinct for name in part) for part in components]
    few: list[list[str]] = []
    held = 0
    for size, part in sorted(zip(sizes, components, strict=True)):
        if size <= table.tuning.few_texts and held + size <= table.tuning.held_texts:
            few.append(part)
            held += size
    many = [part for part in components if part not in few]
    for seed in _SEEDS:
        dictionaries = _dictionaries(table, few, seed)
        if dictionaries is not None and _is_injective(table, many, seed):
            return seed, dictionaries
    raise EngineError("Strings of the table share hash values under every seed tried. Leave out a string column.")


def _is_injective(table: SparkTable, components: list[list[str]], seed: int) -> bool:
    """Whether no two texts that are compared have the same hash; Spark looks."""
    for part in components:
        texts = table.counted(Family.STRING).where(F.col(COLUMN).isin([table.names.index(name) for name in part]))
        texts = texts.select(VALUE).distinct() if len(part) > 1 else texts.select(VALUE)
        hashed = texts.groupBy(_hashed(F.col(VALUE), seed).alias("h")).agg(F.count(F.lit(1)).alias(TIMES))
        if hashed.agg(F.max(TIMES)).collect()[0][0] not in (None, 1):
            return False
    return True


def _components(space: PredicateSpace, texts: list[str]) -> list[list[str]]:
    """The text columns, those that some slot compares with each other together."""
    parts = [{name} for name in texts]
    for slot in space.slots:
        if isinstance(slot.right, Column) and slot.left.name in texts:
            touched = [part for part in parts if part & {slot.left.name, slot.right.name}]
            parts = [part for part in parts if part not in touched] + [set().union(*touched)]
    return [sorted(part) for part in parts]


def _dictionaries(table: SparkTable, components: list[list[str]], seed: int) -> dict[str, NDArray[np.int64]] | None:
    """For each column of few texts the hashes of them and of those they are compared with, ascending.

    None where two texts share a hash.
    """
    home = {table.names.index(name): number for number, part in enumerate(components) for name in part}
    if not home:
        return {}
    counted = table.counted(Family.STRING).where(F.col(COLUMN).isin(list(home)))
    found = counted.select(COLUMN, VALUE, _hashed(F.col(VALUE), seed).alias("h")).toArrow()
    numbers = np.array([home[place] for place in found.column(0).to_pylist()], np.int64)
    out: dict[str, NDArray[np.int64]] = {}
    for number, part in enumerate(components):
        own = found.filter(pa.array(numbers == number))
        hashes = np.unique(own.column(2).to_numpy().astype(np.int64))
        if len(hashes) < len(own.column(1).unique()):
            return None
        out |= dict.fromkeys(part, hashes)
    return out


def _with_codes(
    table: SparkTable, space: PredicateSpace, dictionaries: dict[str, NDArray[np.int64]], seed: int
) -> tuple[Slot, ...]:
    """The slots, with what stands for a text in place of each constant text."""
    texts = list(dict.fromkeys(text for slot in space.slots if (text := _text(slot)) is not None))
    if not texts:
        return space.slots
    hashes = [_hashed(F.lit(text), seed).alias(f"h{place}") for place, text in enumerate(texts)]
    known = dict(zip(texts, table.frame.sparkSession.range(1).select(*hashes).collect()[0], strict=True))
    slots = []
    for slot in space.slots:
        text = _text(slot)
        if text is not None:
            code = known[text]
            dictionary = dictionaries.get(slot.left.name)
            slot = replace(slot, right=Constant(int(code if dictionary is None else np.searchsorted(dictionary, code))))
        slots.append(slot)
    return tuple(slots)


def _text(slot: Slot) -> str | None:
    """The constant text that a slot compares with, if it does."""
    return slot.right.value if isinstance(slot.right, Constant) and isinstance(slot.right.value, str) else None
