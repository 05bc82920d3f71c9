"""What scores are made of: how many values columns have, and how two of them go together."""

from __future__ import annotations

import numpy as np

from refute.tracking.codes import NULL, Ints
from refute.tracking.incdc.thresholds import Thresholds
from refute.tracking.rows import TrackedRows


class ColumnFigures:
    """Figures of the rows of one moment, by codes: whole numbers that fit 32 bits are their own, others their order."""

    def __init__(self, rows: TrackedRows, thresholds: Thresholds) -> None:
        self._rows = rows
        self._living = rows.living
        self._shares: dict[int, float] = {}
        self._coefficients: dict[tuple[int, int], float] = {}
        some = self._living
        if len(some) > thresholds.sample:
            some = np.random.default_rng(thresholds.seed).choice(some, thresholds.sample, replace=False)
        self._sample: Ints = rows.codes[some]

    def score(self, column: int) -> float:
        """The score of an equality index: 1 less the share of distinct values."""
        return 1.0 - self.share(column)

    def share(self, column: int) -> float:
        """The number of distinct values of a column by that of rows."""
        if column not in self._shares:
            codes = self._rows.codes[self._living, column]
            self._shares[column] = len(np.unique(codes)) / max(1, len(codes))
        return self._shares[column]

    def correlation(self, a: int, b: int) -> float:
        """Pearson's coefficient of two columns in the sample; 1 for a column with itself, 0 where one is constant."""
        if a == b:
            return 1.0
        key = min(a, b), max(a, b)
        if key not in self._coefficients:
            both = self._sample[:, key]
            both = both[(both != NULL).all(axis=1)].astype(np.float64)
            both -= both.mean(axis=0) if len(both) else 0.0
            norm = float(np.sqrt((both[:, 0] ** 2).sum() * (both[:, 1] ** 2).sum()))
            self._coefficients[key] = float(both[:, 0] @ both[:, 1]) / norm if norm else 0.0
        return self._coefficients[key]
