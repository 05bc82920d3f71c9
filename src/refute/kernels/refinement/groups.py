"""Hash grouping of the id sets of a batch: the build and probe phases of FACET's equality refinement (section 5.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.refinement.hyperloglog import mixed
from refute.kernels.refinement.id_sets import Ids, Int64s, Keyed, Side, Values, room_for, trimmed

_FIRST_SLOTS = 64  # a table starts this small and grows fourfold, so few distinct values stay in the cache


@njit(cache=True, nogil=True)
def _slot(table: Ids, keys: Values, value: int) -> Any:
    """The slot of `value` in an open-addressing table of group numbers (-1 is empty). O(1) expected."""
    mask = len(table) - 1
    slot = np.int64(mixed(value)) & mask
    while table[slot] >= 0 and keys[table[slot]] != value:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _build(ids: Ids, values: Values, table: Ids, keys: Values, codes: Ids) -> tuple[int, int]:
    """Numbers the distinct values of a set of ids in order of appearance. O(ids).

    `codes` (ids) gets each id's group, `keys` (ids) each group's value; `table` is a power of two of slots, at least
    twice the ids. Returns the number of groups and of slots in use.
    """
    slots = min(_FIRST_SLOTS, len(table))
    table[:slots] = -1
    groups = 0
    for i in range(len(ids)):
        value = values[ids[i]]
        slot = _slot(table[:slots], keys, value)
        group = table[slot]
        if group < 0:
            if 2 * groups >= slots:
                slots = min(4 * slots, len(table))
                table[:slots] = -1
                for g in range(groups):
                    table[_slot(table[:slots], keys, keys[g])] = g
                slot = _slot(table[:slots], keys, value)
            group = groups
            keys[group] = value
            table[slot] = group
            groups += 1
        codes[i] = group
    return groups, slots


@njit(cache=True, nogil=True)
def _scatter(ids: Ids, codes: Ids, places: Int64s, out: Keyed, base: int) -> None:
    """Writes the set grouped: id i goes to the next place of its group; a group with a negative place is dropped."""
    for i in range(len(ids)):
        code = codes[i]
        if code >= 0 and places[code] >= 0:
            out.ids[base + places[code]] = ids[i]
            out.keys[base + places[code]] = code
            places[code] += 1


@njit(cache=True, nogil=True)
def _widest(side: Side) -> int:
    """The largest set of a side. O(pairs)."""
    widest = 0
    for c in range(len(side.starts)):
        widest = max(widest, side.ends[c] - side.starts[c])
    return widest


@njit(cache=True, nogil=True)
def _table_for(size: int) -> Ids:
    slots = 4
    while slots < 2 * size:
        slots *= 2
    return np.empty(slots, np.int32)


@njit(cache=True, nogil=True)
def _group(side: Side, values: Values, smallest: int, out: Keyed) -> None:
    """Groups each set by value into `out`, leaving out groups of fewer than `smallest` ids. O(ids) expected."""
    widest = _widest(side)
    table = _table_for(widest)
    keys = np.empty(widest, values.dtype)
    codes = np.empty(widest, np.int32)
    places = np.empty(widest + 1, np.int64)
    written = 0
    out.offsets[0] = 0
    for c in range(len(side.starts)):
        ids = side.ids[side.starts[c] : side.ends[c]]
        groups, _ = _build(ids, values, table, keys, codes)
        places[:groups] = 0
        for i in range(len(ids)):
            places[codes[i]] += 1
        place = 0
        for g in range(groups):
            size = places[g]
            places[g] = place if size >= smallest else -1
            if size >= smallest:
                place += size
        _scatter(ids, codes, places, out, written)
        written += place
        out.offsets[c + 1] = written


@njit(cache=True, nogil=True)
def _join(build: Side, probe: Side, values: tuple[Values, Values], matched: bool, built: Keyed, probed: Keyed) -> None:
    """Groups both sets of each pair by value, numbering groups alike; `values` is the build and the probe column.

    With `matched`, values of one side only are left out; without, all ids stay. O(ids) expected.
    """
    widest = _widest(build) + _widest(probe)
    table = _table_for(widest)
    keys = np.empty(widest, np.int64)
    build_codes = np.empty(widest, np.int32)
    probe_codes = np.empty(widest, np.int32)
    build_places = np.empty(widest + 1, np.int64)
    probe_places = np.empty(widest + 1, np.int64)
    build_written, probe_written = 0, 0
    built.offsets[0] = 0
    probed.offsets[0] = 0
    for c in range(len(build.starts)):
        build_ids = build.ids[build.starts[c] : build.ends[c]]
        probe_ids = probe.ids[probe.starts[c] : probe.ends[c]]
        groups, slots = _build(build_ids, values[0], table, keys, build_codes)
        total = groups
        build_places[:groups] = 0
        probe_places[:groups] = 0
        for i in range(len(build_ids)):
            build_places[build_codes[i]] += 1
        for i in range(len(probe_ids)):
            value = values[1][probe_ids[i]]
            group = table[_slot(table[:slots], keys, value)]
            probe_codes[i] = group
            if group >= 0:
                probe_places[group] += 1
        if not matched:
            total += _number_unmatched(probe_ids, values[1], table, keys, probe_codes, probe_places, groups)
            build_places[groups:total] = 0
        build_place, probe_place = 0, 0
        for g in range(total):
            x, y = build_places[g], probe_places[g]
            keep = not matched or (x > 0 and y > 0)
            build_places[g] = build_place if keep else -1
            probe_places[g] = probe_place if keep else -1
            if keep:
                build_place += x
                probe_place += y
        _scatter(build_ids, build_codes, build_places, built, build_written)
        _scatter(probe_ids, probe_codes, probe_places, probed, probe_written)
        build_written += build_place
        probe_written += probe_place
        built.offsets[c + 1] = build_written
        probed.offsets[c + 1] = probe_written


@njit(cache=True, nogil=True)
def _number_unmatched(
    ids: Ids, values: Values, table: Ids, keys: Values, codes: Ids, places: Int64s, groups: int
) -> int:
    """Numbers the probe values that the build side lacks from `groups` on and counts them. Returns how many. O(ids)."""
    slots = _FIRST_SLOTS
    while slots < 2 * len(ids):
        slots *= 2
    table = table[: min(slots, len(table))]
    table[:] = -1
    fresh = keys[groups:]
    found = 0
    for i in range(len(ids)):
        if codes[i] < 0:
            value = values[ids[i]]
            slot = _slot(table, fresh, value)
            if table[slot] < 0:
                table[slot] = found
                fresh[found] = value
                places[groups + found] = 0
                found += 1
            codes[i] = groups + table[slot]
            places[codes[i]] += 1
    return found


@njit(cache=True, nogil=True)
def _count_equal(build: Side, probe: Side, values: tuple[Values, Values], reflexive: bool) -> Any:
    """The pairs of ids with equal values: products of group sizes, nothing written. O(ids) expected."""
    widest = _widest(build)
    table = _table_for(widest)
    keys = np.empty(widest, np.int64)
    codes = np.empty(widest, np.int32)
    sizes = np.empty(widest + 1, np.int64)
    total = np.int64(0)
    for c in range(len(build.starts)):
        ids = build.ids[build.starts[c] : build.ends[c]]
        groups, slots = _build(ids, values[0], table, keys, codes)
        sizes[:groups] = 0
        for i in range(len(ids)):
            sizes[codes[i]] += 1
        if reflexive:
            for g in range(groups):
                total += sizes[g] * sizes[g]
            continue
        for i in range(probe.starts[c], probe.ends[c]):
            group = table[_slot(table[:slots], keys, values[1][probe.ids[i]])]
            if group >= 0:
                total += sizes[group]
    return total


def group(side: Side, values: Values, *, smallest: int = 1) -> Keyed:
    """The sets of one side with equal values side by side; groups below `smallest` ids are gone."""
    out = room_for(side)
    _group(side, values, smallest, out)
    return trimmed(out)


def join(build: Side, probe: Side, values: tuple[Values, Values], *, matched: bool) -> tuple[Keyed, Keyed]:
    """Both sides grouped by value under common group numbers; with `matched`, only the values that both sides have."""
    built, probed = room_for(build), room_for(probe)
    _join(build, probe, values, matched, built, probed)
    return trimmed(built), trimmed(probed)


def count_equal(build: Side, probe: Side, values: tuple[Values, Values], *, reflexive: bool) -> int:
    """The number of pairs with equal values; with `reflexive` the sides are one and the probe side is not read."""
    return int(_count_equal(build, probe, values, reflexive))
