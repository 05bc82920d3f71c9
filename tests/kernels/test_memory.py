"""Buffers of small arrays, and pages of large ones, are used again, and never while an array or a view of it lives."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from refute.runtime.arrays import empty, full, give_back, paged, reused_pages, zeros

SIZE = 1 << 17  # bytes that are kept


def test_the_buffer_of_an_array_that_is_gone_is_used_again() -> None:
    give_back(1 << 20)
    first = empty(SIZE, np.uint8)
    place = first.ctypes.data
    del first
    gc.collect()
    assert empty(SIZE - 100, np.uint8).ctypes.data == place


def test_a_view_keeps_its_buffer() -> None:
    view = full((4, SIZE // 16), 7, np.int32)[1:, ::2]
    others = [full(SIZE // 4, 9, np.int32) for _ in range(20)]
    assert (view == 7).all()
    assert all((other == 9).all() for other in others)


def test_pages_of_large_arrays_are_used_again_only_where_that_is_asked_for() -> None:
    with reused_pages():
        first, second = paged((1 << 20, 5), np.int64), paged((1 << 20, 5), np.int64)
        first.fill(7)
        second.fill(9)
        view, place = first[5:, 2:], second.ctypes.data
        del first, second
        with reused_pages():
            third = paged((1 << 20, 6), np.int64)  # less than twice as large
        assert third.ctypes.data == place
        third.fill(3)
        assert (view == 7).all()
        assert paged((3, 4), np.int32).shape == (3, 4)
    before = third.ctypes.data
    del third
    with reused_pages():
        fresh = paged((1 << 20, 5), np.int64)
    assert fresh.shape == (1 << 20, 5)
    assert not fresh.any() or fresh.ctypes.data != before  # as the system gives it
    assert (view == 7).all()


def test_pages_of_an_array_serve_larger_ones_and_those_of_one_are_kept() -> None:
    with reused_pages():
        other = paged((1 << 19, 9), np.int64)
        other.fill(5)
        for rows in (1 << 19, 3 << 18, 1 << 20, 1 << 21, 1 << 19):
            array = paged((rows, 2), np.int64)
            array.fill(rows)
            view = array[1:, 1]
            del array
            assert (view == rows).all()
            del view
    with reused_pages():
        again = paged((1 << 19, 2), np.int64)
        again.fill(3)
    assert (other == 5).all()
    assert (again == 3).all()


def test_arrays_of_many_threads_share_nothing() -> None:
    wrong = []

    def work(number: int) -> None:
        for _ in range(200):
            held = [full(SIZE // 8, number, np.int64) for _ in range(3)]
            if any((array != number).any() for array in held):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_shapes_and_types_are_as_asked() -> None:
    for shape, dtype in (
        ((300, 100), np.int32),
        (70_000, np.uint8),
        ((2, 3), np.int64),
        (0, np.int32),
        (10**6, np.int8),
    ):
        array = empty(shape, dtype)
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert array.flags.writeable


@pytest.mark.parametrize("shape", [0, 5, (3, 2), 1 << 20, (1 << 19, 3)])
def test_zeros_are_zero_can_be_written_and_have_the_shape_asked_for(shape: int | tuple[int, ...]) -> None:
    found = zeros(shape, np.int64)
    assert found.shape == np.zeros(shape).shape
    assert found.flags.c_contiguous
    assert not found.any()
    found += 1
    assert found.all()
