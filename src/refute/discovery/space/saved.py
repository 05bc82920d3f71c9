"""A predicate space as JSON, and back: what was found in a space can be read again wherever the space is known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.space.states import kind_of
from refute.errors import DataError, ended
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Row

VERSION = 1

_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "float": float.fromhex,
    "Decimal": Decimal,
    "str": str,
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
}


def space_as_json(space: PredicateSpace) -> dict[str, Any]:
    """The space as what JSON can hold."""
    return {"version": VERSION, "slots": [_slot_as_json(slot) for slot in space.slots]}


def space_of_json(saved: Mapping[str, Any]) -> PredicateSpace:
    """The space that was saved; raises DataError where it was saved by another version, or is not whole."""
    if saved.get("version") != VERSION:
        raise DataError(
            f"The saved predicate space has version {saved.get('version')!r}, not {VERSION}.",
            value=saved.get("version"),
            expected=VERSION,
        )
    try:
        return PredicateSpace(tuple(_slot_of_json(slot) for slot in saved["slots"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"The saved predicate space cannot be read: {ended(str(error))}", reason=str(error)) from error


def _slot_as_json(slot: Slot) -> dict[str, Any]:
    kind = slot.kind
    return {
        "left": _column_as_json(slot.left),
        "right": _column_as_json(slot.right) if isinstance(slot.right, Column) else _constant_as_json(slot.right),
        "ordered": kind.is_ordered,
        "nullable": kind.tells_nulls,
        "nulls": kind.nulls.value,
        "operators": [op.value for op in kind.operators],
        **({} if kind.asked else {"asked": False}),
        **({"binary": True} if kind.binary else {}),
    }


def _slot_of_json(saved: Mapping[str, Any]) -> Slot:
    kind = kind_of(
        ordered=saved["ordered"],
        nullable=saved["nullable"],
        nulls=Nulls(saved["nulls"]),
        operators=tuple(Operator(op) for op in saved["operators"]),
        binary=saved.get("binary", False),
    )
    kind = kind if saved.get("asked", True) else kind.silent
    right = saved["right"]
    return Slot(_column_of_json(saved["left"]), (_column_of_json if "row" in right else _constant_of_json)(right), kind)


def _column_as_json(column: Column) -> dict[str, str]:
    return {"row": column.row.value, "column": column.name}


def _column_of_json(saved: Mapping[str, str]) -> Column:
    return Column(Row(saved["row"]), saved["column"])


def _constant_as_json(constant: Constant) -> dict[str, Any]:
    """The constant with the name of its type, as 1, 1.0 and True are three constants."""
    value = constant.value
    match value:
        case bool() | str():
            held: Any = value
        case float():
            held = value.hex()
        case dt.date():
            held = value.isoformat()
        case _:
            held = str(value)
    return {"type": type(value).__name__, "value": held}


def _constant_of_json(saved: Mapping[str, Any]) -> Constant:
    return Constant(_VALUES[saved["type"]](saved["value"]))
