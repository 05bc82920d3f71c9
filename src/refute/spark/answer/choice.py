"""The ways to answer a rule on Spark, in the order in which they are preferred."""

from __future__ import annotations

from refute.spark.answer.bound import BoundRule
from refute.spark.answer.fetching.gather import Gather
from refute.spark.answer.native.extremes import Extremes
from refute.spark.answer.native.labelled import LabelledExtremes
from refute.spark.answer.native.ways import Aggregate, Filter, Summarise
from refute.spark.answer.way import Distribute, Way
from refute.spark.budget import shown_bytes

WAYS: tuple[type[Way], ...] = (Filter, Summarise, Aggregate, Gather, Distribute)
EXTREMES = (Extremes, LabelledExtremes)  # which verify rules by less than their ways take, and answer nothing else


def way_of(bound: BoundRule) -> Way:
    """The way that a rule goes; rows are counted for it where nothing else shows how many there are."""
    ways = (way(bound) for way in WAYS)
    return next(way for way in ways if way.suits(bound.most_rows) and way.is_open)


def expected_way(bound: BoundRule, rows: int) -> Way:
    """The way that a rule will probably go over so many rows; nothing is counted for it."""
    ways = (way(bound) for way in WAYS)
    return next(way for way in ways if way.suits(rows))


def extremes_of(bound: BoundRule) -> Extremes | None:
    """The extremes of groups, where they verify the rule."""
    pairing = bound.pairing
    if pairing is None:
        return None
    return next((one(pairing, bound.engine.plain) for one in EXTREMES if one.suits(pairing)), None)


def note_on(driver_bytes: int) -> str:
    """What the budget of bytes means for a plan."""
    if not driver_bytes:
        return "Only a sample of the rows comes to this process, to divide the work (driver_bytes = 0)."
    return f"At most {shown_bytes(driver_bytes)} of rows come to this process (driver_bytes)."
