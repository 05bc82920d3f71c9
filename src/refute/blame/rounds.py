"""A rule of any shape as a contest: suspects by rounds of partner counts, and a proof of how many there must be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refute.blame.contest import Contest, Flags, Longs

ONE = 1 << 32  # in parts of which weights are whole numbers
_USUAL = 0.999  # the share of rows that stay whose violations are thought usual


@dataclass(frozen=True, slots=True, eq=False)
class Loose(Contest):
    """Any rule, by rounds of partner counts: of all rows so many go that those with the most violations could cover all
    of them, then partners are counted again.

    No choice can do with fewer, and these are in half of all violations at least. So there are no more rounds than
    the number of violations has bits, few in practice, and each is a count of fewer rows.
    """

    @property
    def exact(self) -> bool:
        """What is dropped may be more than must go."""
        return False

    def keep(self, weights: Longs, alive: Flags) -> Flags:
        """What is left after the rounds; partners are counted, not weighed. Rows with equally many go together."""
        kept = alive.copy()
        active = alive
        while True:
            degrees = self.degrees(active)
            needed, least = covering(degrees)
            if needed == 0:
                return kept
            gone = degrees >= least
            kept &= ~gone
            active = (degrees > 0) & ~gone

    def fewest(self, free: Longs, busy: Longs) -> tuple[int, Longs]:
        """So many that the rows with the most violations could cover all of them."""
        degrees = self.degrees(free > 0)
        return covering(degrees)[0], np.where(degrees > 0, free, 0)

    def proven(self, free: Flags, kept: Flags) -> int:
        """How many of the free rows at least must go, by what those that go clash with, of those that stay.

        Every violation between the two is given a weight such that those of no row add up to more than one. A row has
        to go for each violation, so at least as many go as all weights add up to. With d violations of a suspect, and
        no row that stays in more than m of them, 1/d and 1/m are such weights, whichever is less. Where a few rows that
        stay are in many more than others, they are also tried without. Whole numbers throughout.
        """
        gone, staying = np.flatnonzero(free & ~kept), free & kept
        own = self.violations(gone, staying)
        met = np.where(staying, self.degrees(free), 0)  # rows that stay clash with none that stays
        several = met[met > 0]
        if len(several) == 0:
            return 0
        most, usual = int(several.max()), int(np.quantile(several, _USUAL))
        found = int((own * (ONE // np.maximum(own, most))).sum())
        if 2 * usual <= most:
            left = own - self.violations(gone, met > usual)
            found = max(found, int((left * (ONE // np.maximum(left, usual))).sum()))
        return -(-found // ONE)


def covering(degrees: Longs) -> tuple[int, int]:
    """How many rows with the most violations could cover all of them, given those of each row, and the least of these.
    Every violation is counted for two rows."""
    found = np.sort(degrees[degrees > 0])[::-1]
    if len(found) == 0:
        return 0, 0
    covered = np.cumsum(found)
    needed = int(np.searchsorted(covered, (covered[-1] + 1) // 2)) + 1
    return needed, int(found[needed - 1])
