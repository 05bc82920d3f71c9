"""The figures that the refinement pipeline is tuned by."""

from __future__ import annotations

from dataclasses import dataclass

from refute.detect.refine.stages import Algorithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Thresholds and sizes; the defaults are those that `benchmarks/refine_thresholds.py` found best."""

    budget: int = 1 << 20  # ids that one kernel call refines, which bounds the memory of a level
    chunk: int = 1 << 16  # pairs in one chunk of a listing
    bins: int = 2  # bins of a BHSM node
    leaf: int = 4  # blocks of a BHSM node that are left to HSM
    hsm_values: int = 8  # distinct values up to which HSM precedes another stage
    iejoin_values: int = 1024  # distinct values of both inequalities from which on IEJoin takes the last two
    bitmap_rows: int = 1 << 16  # rows from which on dense id sets may be Roaring bitmaps
    bitmap_values: float = 1024  # combinations of values, per predicate after the first, up to which they are
    partner_bitmap_values: float = 64  # the same where partners are counted, which reads the ids of each last set
    force: Algorithm | None = None  # the algorithm for all inequalities where it applies; for tests and studies

    def __post_init__(self) -> None:
        if min(self.budget, self.chunk, self.leaf) < 1 or self.bins < 2:
            raise ValueError("budget, chunk and leaf must be at least 1, and bins at least 2")


DEFAULT = Tuning()
