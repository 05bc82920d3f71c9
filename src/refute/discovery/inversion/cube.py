"""Inversion where all combinations of states can be held as bits: which spaces that is, and the search itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import WORD, PredicateSpace, States
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget, Crew
from refute.kernels.inversion.cube import Cube, fill_cube, invert_cube

Masks = NDArray[np.uint8]


def fits_cube(space: PredicateSpace, points: int, tuning: Tuning) -> bool:
    """Whether the cube of all states of the space is small enough to be held and searched for that many points."""
    cells = 1
    for slot in space.slots:
        cells *= len(slot.kind.states)
    return cells <= max(tuning.few_cells, min(tuning.most_cells, tuning.cells_per_point * points))


def cube_masks(
    space: PredicateSpace, states: States, budget: Budget, limit: int, tuning: Tuning, *, halved: bool
) -> tuple[Masks, bool]:
    """The masks (N, K) of all maximal boxes that hold none of the points, and whether the search was finished.

    `halved` asks for only one of each box and its mirror image.
    """
    order = _settling_order(space, states)
    cube = _cube(space, order, halved)
    points = fill_cube(cube, np.ascontiguousarray(states[:, order]))
    stop, nodes = 0, 1
    while WORD * len(points) > tuning.quick_cells and stop < len(order) - 1 and nodes < tuning.nodes:
        nodes *= int(cube.options[stop])
        stop += 1

    def search(found: list[Masks], prefix: Masks) -> list[Masks]:
        level = 0 if len(prefix) else stop
        boxes, finished = invert_cube(cube, points, prefix, level, limit, budget.halt)
        tasks.extend(np.ascontiguousarray(node) for node in boxes[~finished, :stop])
        return [*found, boxes[finished]]

    tasks: list[Masks] = []
    budget.halt[1] = 0
    crew: Crew[list[Masks], Masks] = Crew(budget, list, search, tasks=1)
    results, complete = crew.run([np.empty(0, np.uint8)])
    if tasks and complete:
        budget.halt[1] = sum(len(part) for found in results for part in found)
        crew = Crew(budget, list, search, tasks=len(tasks))
        more, complete = crew.run(tasks.copy())
        results = [*results, *more]
    chosen = np.concatenate([np.empty((0, len(order)), np.uint8), *(part for found in results for part in found)])
    masks = np.empty_like(chosen)
    for level, k in enumerate(order):
        masks[:, k] = cube.mask[level].astype(np.uint8)[chosen[:, level]]
    return masks, complete


def _settling_order(space: PredicateSpace, states: States) -> list[int]:
    """Slots in which most points have the same state first: there, most masks end the search early."""
    skew = [int(np.bincount(states[:, k]).max()) for k in range(len(space.slots))]
    return sorted(range(len(space.slots)), key=lambda k: (-skew[k], k))


def _cube(space: PredicateSpace, order: list[int], halved: bool) -> Cube:
    kinds = [space.slots[k].kind for k in order]
    slots = len(kinds)
    sizes = np.array([len(kind.states) for kind in kinds], np.int64)
    outer, inside = slots, 1
    while outer and inside * sizes[outer - 1] <= WORD:
        outer -= 1
        inside *= int(sizes[outer])
    cells = np.ones(slots + 1, np.int64)
    for k in reversed(range(outer, slots)):
        cells[k] = cells[k + 1] * sizes[k]
    for k in reversed(range(outer)):
        cells[k] = sizes[k] * (cells[k + 1] if k + 1 < outer else 1)
    options = np.array([len(kind.conjunctions) + 1 for kind in kinds], np.int64)
    shape = slots, int(options.max())
    mask, weight, side = (np.zeros(shape, np.int64) for _ in range(3))
    gained = np.zeros((*shape, 4), np.int64)
    for k, kind in enumerate(kinds):
        mask[k, 0] = kind.full
        for option, one in enumerate(kind.conjunctions, start=1):
            mask[k, option] = one
            weight[k, option] = len(kind.conjunctions[one])
            wider = [other & ~one for other in kind.weakened(one)]
            gained[k, option, : len(wider)] = wider
            if halved:
                swapped = kind.mirrored(one)
                side[k, option] = (one > swapped) - (one < swapped)
    return Cube(sizes, outer, cells, options, mask, gained, weight, side)
