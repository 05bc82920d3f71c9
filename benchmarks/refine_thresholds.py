"""Measures the thresholds of the refinement pipeline, as FACET's section 6.2 and figures 2, 3 and 7 do for its own.

    python -m benchmarks.refine_thresholds [--rows N] [--only NAME,...]

Every table gives CPU milliseconds of one count, the least of three runs; `=` marks the fastest of a line. The figures
chosen from it are the defaults of `refute.detect.refine.Tuning`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from refute.detect import refine
from refute.detect.refine import Tuning
from refute.detect.refine.stages import Algorithm
from refute.plan.problem import Comparison, Problem, ProblemSide

ALWAYS = 2**62


def comparison(values: NDArray[np.int64]) -> Comparison:
    narrow = values.astype(np.int32)
    return Comparison(narrow, narrow, int(values.max()) + 1)


def rule(rows: int, order: Iterable[NDArray[np.int64]], equal: Iterable[NDArray[np.int64]] = ()) -> Problem:
    return Problem(
        ProblemSide(rows), ProblemSide(rows), tuple(map(comparison, equal)), tuple(map(comparison, order)), (), False
    )


def milliseconds(problem: Problem, tuning: Tuning, answer: Callable[..., object] = refine.count) -> float:
    taken = []
    for _ in range(3):
        start = time.process_time()
        answer(problem, tuning=tuning)
        taken.append(time.process_time() - start)
    return 1000 * min(taken)


def show(title: str, lines: Iterable[tuple[str, dict[str, float]]]) -> None:
    print(f"\n{title}")
    for name, figures in lines:
        best = min(figures.values())
        cells = [f"{label} {figure:8.1f}{'=' if figure == best else ' '}" for label, figure in figures.items()]
        print(f"  {name:24} {'  '.join(cells)}", flush=True)


def algorithms(rows: int) -> None:
    """Two inequalities by HSM, BHSM and IEJoin: uniform values, and a rule that holds but for 1 % of the rows."""
    rng = np.random.default_rng(0)
    arrays = {"bitmap_values": 0.0}
    arrays["nested_pairs"] = 0.0
    forced = {
        "HSM": Tuning(force=Algorithm.HSM, **arrays),  # type: ignore[arg-type]
        "BHSM": Tuning(force=Algorithm.BHSM, **arrays),  # type: ignore[arg-type]
        "IEJoin": Tuning(force=Algorithm.IEJOIN, **arrays),  # type: ignore[arg-type]
    }

    def lines() -> Iterable[tuple[str, dict[str, float]]]:
        for values in (2, 4, 8, 16, 64, 256, 1024, 2048, 8192, 65536, rows):
            first = rng.integers(0, values, rows)
            second = rng.integers(0, 2 * values, rows)
            holds = 2 * values - 2 * first - rng.integers(0, 2, rows)
            holds = np.where(rng.random(rows) < 0.01, np.minimum(holds + values // 8 + 1, 2 * values), holds)
            for name, other in (("uniform", second), ("nearly holds", holds)):
                problem = rule(rows, (first, other))
                usable = {label: t for label, t in forced.items() if label != "HSM" or values <= 256}
                yield f"{values} {name}", {label: milliseconds(problem, t) for label, t in usable.items()}

    show("two inequalities, by distinct values", lines())


def grouped(rows: int) -> None:
    """Inequalities of many values within equality groups of several sizes, and loops over the pairs of small groups."""
    rng = np.random.default_rng(1)
    forced = {
        "BHSM": Tuning(force=Algorithm.BHSM, nested_pairs=0),
        "IEJoin": Tuning(force=Algorithm.IEJOIN, nested_pairs=0),
        "HSM": Tuning(force=Algorithm.HSM, nested_pairs=0),
        "loop": Tuning(nested_pairs=ALWAYS),
    }

    def lines() -> Iterable[tuple[str, dict[str, float]]]:
        for predicates in (2, 3, 4):
            for size in (4, 16, 64, 128, 256, 512, 1024):
                order = [rng.integers(0, rows, rows) for _ in range(predicates)]
                problem = rule(rows, order, [rng.integers(0, max(rows // size, 1), rows)])
                usable = {label: t for label, t in forced.items() if label != "HSM" or size * predicates <= 256}
                yield f"{predicates} in groups of {size}", {k: milliseconds(problem, t) for k, t in usable.items()}

    show("inequalities of many values within groups", lines())


def bins(rows: int) -> None:
    """The shape of BHSM's nodes before another inequality."""
    rng = np.random.default_rng(2)
    shapes = {
        f"{b} bins, leaf {leaf}": (b, leaf)
        for b, leaf in ((2, 1), (2, 4), (2, 8), (2, 16), (4, 4), (16, 16), (64, 64), (500, 500))
    }

    def lines() -> Iterable[tuple[str, dict[str, float]]]:
        for values in (16, 256, 4096, 65536):
            problem = rule(rows, (rng.integers(0, values, rows), rng.integers(0, 2 * values, rows)))
            yield (
                f"{values} values",
                {
                    label: milliseconds(problem, Tuning(bins=b, leaf=leaf, force=Algorithm.BHSM, bitmap_values=0))
                    for label, (b, leaf) in shapes.items()
                    if values <= 4096 or b < 500
                },
            )

    show("BHSM, bins and leaf", lines())


def bitmaps(rows: int) -> None:
    """Arrays against Roaring bitmaps, by the combinations of values of all predicates."""
    rng = np.random.default_rng(3)
    never, always = (
        Tuning(bitmap_values=v, partner_bitmap_values=v, bitmap_rows=1, iejoin_values=ALWAYS) for v in (0, ALWAYS)
    )

    def lines() -> Iterable[tuple[str, dict[str, float]]]:
        for values in (
            (2, 2),
            (9, 11),
            (16, 16),
            (32, 32),
            (64, 64),
            (4, 4, 4),
            (9, 11, 16),
            (9, 11, 50),
            (7, 7, 7, 7),
        ):
            problem = rule(rows, [rng.integers(0, v, rows) for v in values])
            yield (
                f"{' x '.join(map(str, values))}",
                {
                    "count: arrays": milliseconds(problem, never),
                    "bitmaps": milliseconds(problem, always),
                },
            )
            yield (
                "",
                {
                    "partners: arrays": milliseconds(problem, never, refine.partners),
                    "bitmaps": milliseconds(problem, always, refine.partners),
                },
            )

    show("arrays and bitmaps", lines())


def budgets(rows: int) -> None:
    """The number of ids that one kernel call refines."""
    rng = np.random.default_rng(4)
    problem = rule(rows, [rng.integers(0, v, rows) for v in (9, 11, rows)], [rng.integers(0, 50, rows)])
    sizes = (1 << 14, 1 << 17, 1 << 19, 1 << 20, 1 << 21, 1 << 23)
    show(
        "ids per kernel call",
        [("", {f"2^{s.bit_length() - 1}": milliseconds(problem, Tuning(budget=s)) for s in sizes})],
    )


STUDIES = {study.__name__: study for study in (algorithms, grouped, bins, bitmaps, budgets)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(STUDIES))
    options = parser.parse_args()
    for force in (None, Algorithm.HSM, Algorithm.BHSM, Algorithm.IEJOIN):  # compile before the clock runs
        warm = rule(100, [np.arange(100), np.arange(100)], [np.arange(100) % 3])
        refine.count(warm, tuning=Tuning(force=force))
        refine.partners(warm, tuning=Tuning(force=force, bitmap_rows=1))
    for name in options.only.split(","):
        STUDIES[name](options.rows)


if __name__ == "__main__":
    main()
