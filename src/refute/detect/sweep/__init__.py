"""The method `sweep`: dominance kernels in rank space for every shape of rule (DESIGN, section 3)."""

from refute.detect.sweep.counting import count, count_steps, partners, partners_steps
from refute.detect.sweep.existence import exists, exists_steps
from refute.detect.sweep.involved import involved, involved_steps
from refute.detect.sweep.listing import pairs
from refute.detect.sweep.tuning import Tuning

__all__ = [
    "Tuning",
    "count",
    "count_steps",
    "exists",
    "exists_steps",
    "involved",
    "involved_steps",
    "pairs",
    "partners",
    "partners_steps",
]
