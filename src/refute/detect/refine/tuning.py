"""The figures that the refinement pipeline is tuned by."""

from __future__ import annotations

from dataclasses import dataclass

from refute.detect.refine.stages import Algorithm

# Chosen from `benchmarks/refine_thresholds.py` on two cores of a cloud machine with 1M rows, in CPU time. The paper's
# figures (Java, arrays copied per pair) were 10,000 values for HSM to BHSM, 500 bins and 2^13 values for IEJoin.
# - A set here is a range of a sorted array, so bins cost nothing to make and their sizes are what a next stage reads:
#   2 bins per node, leaves of 4 blocks, at 4,096 values 244 ms against 3,411 ms with 500 bins. HSM before another stage
#   is level up to 8 values (46 against 40 ms), loses 1.8 times at 16 and 14 times at 256.
# - IEJoin against BHSM and HSM: 1.3 times slower at 2,048 uniform values, 0.8 of the time at 8,192, 0.6 at 1M; where a
#   rule nearly holds it is the faster one from 1,024 values on.
# - A loop over the pairs (300,000 rows, before sets were read once per sort) beats IEJoin in groups of 16 and loses
#   at 64; with 3 inequalities left it wins at 256 and loses at 512, with 4 it still wins at 1,024.
# - Roaring bitmaps against arrays, counts of 2 inequalities: 0.7 of the time at 99 combinations of values, 1.2 times at
#   1,024; of 3, level at 1,584; of 4, 0.2 of the time at 2,401. Partners gain with 3 and more inequalities only.
# - Ids per kernel call (measured before the loop was added) are flat from 2^19 to 2^20; 2^14 costs 1.3 times.


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Thresholds and sizes of the pipeline."""

    budget: int = 1 << 20  # ids that one kernel call refines, which bounds the memory of a level
    chunk: int = 1 << 16  # pairs in one chunk of a listing
    bins: int = 2  # bins of a BHSM node
    leaf: int = 4  # blocks of a BHSM node that are left to HSM
    hsm_values: float = 8  # distinct values up to which HSM precedes another stage
    iejoin_values: float = 4096  # distinct values of both inequalities from which on IEJoin takes the last two
    nested_pairs: float = 16  # pairs per id up to which a loop ends a cluster pair with two predicates left
    bitmap_rows: int = 1 << 16  # rows from which on dense id sets may be Roaring bitmaps
    bitmap_values: float = 400  # combinations of values up to which they are, for two predicates
    partner_bitmap_values: float = 32  # the same where partners are counted, which reads the ids of each last set
    force: Algorithm | None = None  # the algorithm for all inequalities where it applies; for tests and studies

    def __post_init__(self) -> None:
        if min(self.budget, self.chunk, self.leaf) < 1 or self.bins < 2:
            raise ValueError("budget, chunk and leaf must be at least 1, and bins at least 2.")


DEFAULT = Tuning()
