"""What the searches ask of a table's pairs of rows, wherever the rows are: in this process, or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.work import Budget
from refute.relation import Relation

if TYPE_CHECKING:
    from refute.discovery.evidence.agreements import Agreement
    from refute.discovery.guided.reduction import Among

Chosen = frozenset[int]  # slots whose operands must be equal
Masks = NDArray[np.uint8]
Given = TypeVar("Given", contravariant=True)


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that looking takes, by which ways are chosen; no answer depends on them.

    `job` is what any look at all rows costs at least, `row` what it costs per row, `pair` per pair looked at; `witness`
    is the search for one witness, per row.
    """

    job: float
    row: float
    pair: float
    witness: float


@dataclass(frozen=True, slots=True)
class Hunt:
    """What a search for witnesses found: the numbers of the boxes that hold, evidence that breaks others.

    `complete` is False when the time was up before all boxes were searched.
    """

    held: tuple[int, ...]
    evidence: tuple[Evidence, ...]
    complete: bool


class PairsOf(Protocol[Given]):
    """The pairs of rows of a table as evidence of one space; `Given` is how single rows are named.

    Evidence is always of true pairs of distinct rows. What says so counts each pair once; all else may repeat.
    """

    @property
    def space(self) -> PredicateSpace:
        """The predicate space."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def costs(self) -> Costs:
        """What looking takes."""

    def everything(self, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs, counted, and whether all of them were looked at."""

    def some(self, budget: Budget) -> Evidence:
        """The evidence of some rows against each other."""

    def drawn(self, slot: int) -> Evidence:
        """The evidence of rows with a random partner that agrees on the slot, and of neighbours in its order."""

    def random(self, pairs: int) -> Evidence:
        """The evidence of about so many random pairs, the same ones in every run."""

    def agree(self, chosen: Chosen) -> float:
        """How many pairs agree on the slots, estimated from some rows."""

    def agreeing(self, chosen: Chosen, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs that agree on the slots, and whether all of them were looked at."""

    def against(self, rows: Given, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all pairs that hold one of these rows of the table, and whether all of them were looked at.

        Each pair is counted once, also one of two given rows: what a table gains when the rows are inserted, and what
        it loses when they are deleted. Rows are named by their numbers in this process; on a cluster, where they have
        none, by their coded values, each as often as it is meant.
        """

    def peeled(self, done: list[Chosen], budget: Budget) -> tuple[Evidence, ...]:
        """The evidence of all pairs of rows that agree with others in rare ways on one of the sets of slots."""

    def hunt(self, masks: Masks, budget: Budget) -> Hunt:
        """Searches all rows for a pair inside each of the boxes (N, K)."""

    def here(self) -> tuple[Relation, PredicateSpace]:
        """The table in this process, and the space over its columns, for what needs single rows."""


Pairs: TypeAlias = PairsOf[Any]


@runtime_checkable
class Reducible(PairsOf[Given], Protocol[Given]):
    """Pairs of which few rows can stand for all, where rules read only some of the slots."""

    @property
    def discerning(self) -> Chosen:
        """The slots that tell most rows apart."""

    def reduced(self, chosen: Chosen, read: Chosen) -> tuple[Among, Agreement]:
        """The rules with these equalities that read only these of the discerning slots, and the pairs to see."""

    def seen(self, pairs: Agreement, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of the pairs, and whether all of them were looked at."""
