"""The memory of arrays where there is none."""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refute.runtime import arrays


@pytest.mark.parametrize("size", [1 << 18, 1 << 23], ids=["buffers", "pages"])
def test_an_array_that_gets_no_memory_leaves_nothing_to_say_later(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise MemoryError

    said: list[Any] = []
    monkeypatch.setattr(arrays, "_kept", {})
    monkeypatch.setattr(arrays, "_reusing", [None])
    monkeypatch.setattr(pa, "allocate_buffer", refused)
    monkeypatch.setattr(mmap, "mmap", refused)
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with pytest.raises(MemoryError):
        arrays.empty(size, np.int8) if size < 1 << 20 else arrays.paged((size,), np.int8)
    assert not said
