"""Encodings that grow: batches of new strings against a dictionary of a million, and keys among as many rows.

    python benchmarks/growing.py [--rows N] [--batch N]

Milliseconds of CPU time of the calling thread, as other processes would show in those of a clock; the dictionary is
fitted at once, then grows batch by batch. `equal` numbers strings, `ordered` also gives them labels in their order,
`keys` takes rows in by their keys and finds them again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from refute.relation.keys.encoding import Encoding
from refute.relation.keys.key_index import KeyIndex

BATCHES = 50


def columns(n: int, seed: int = 1) -> dict[str, pa.Array]:
    """Strings of several kinds, all different."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    sites = [f"https://{'abc'[i % 3]}.com/path/{i % 977}/id={i:09d}" for i in order]
    return {
        "18 bytes, common start": pa.array([f"Customer#{i:09d}" for i in order]),
        "32 bytes, random": pa.array([rng.bytes(16).hex() for _ in range(n)]),
        "13 bytes, rising": pa.array([f"K{i:012d}" for i in range(n)]),
        "40 bytes, long common starts": pa.array(sites),
    }


def main() -> None:
    """Prints three lines for each kind of strings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=1_000)
    options = parser.parse_args()
    print(f"{'':30}{'':9}{'fit':>8}{'batch':>8}{'mean':>8}{'worst':>8}{'MB':>7}")
    for warm in (True, False):
        n = 20_000 if warm else options.rows
        for name, column in columns(n + BATCHES * options.batch).items():
            parts = [column.slice(n + i * options.batch, options.batch) for i in range(BATCHES)]
            for what, run, nbytes in contestants(column.type):
                each = [took(run, part) for part in (column.slice(0, n), *parts)]
                spread = f"{np.median(each[1:]):8.2f}{np.mean(each[1:]):8.2f}{max(each[1:]):8.1f}"
                if not warm:
                    print(f"{name:30}{what:9}{each[0]:8.0f}{spread}{nbytes() / 1e6:7.0f}")


def contestants(kind: pa.DataType) -> Iterator[tuple[str, Callable[[pa.Array], object], Callable[[], int]]]:
    """Name, what takes in a column, and the memory of what is kept."""
    equal, ordered, index = Encoding([kind]), Encoding([kind]), KeyIndex({"k": kind})
    yield "equal", lambda part: equal.codes(part, extend=True), lambda: equal.nbytes
    yield "ordered", lambda part: ordered.codes(part, ordered=True, extend=True), lambda: ordered.nbytes

    def keep(part: pa.Array) -> None:
        index.add({"k": part}, np.arange(len(part)))
        index.find({"k": part})

    yield "keys", keep, lambda: index.nbytes


def took(run: Callable[[pa.Array], object], part: pa.Array) -> float:
    """Milliseconds of CPU time."""
    start = time.thread_time()
    run(part)
    return 1000 * (time.thread_time() - start)


if __name__ == "__main__":
    main()
