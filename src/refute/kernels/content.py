"""What a kernel is compiled from, as one digest: its code, and all code and constants that it refers to.

Files have other times and places in every checkout, and a change of a called kernel leaves the file of its caller as
it was. The digest is the same wherever the code is, and differs where any of it does, whatever file it is in.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np


def content_of(kernel: Callable[..., Any]) -> str:
    """The digest of a function that Numba can compile."""
    digest = hashlib.sha256()
    for part in _parts(kernel, set()):
        digest.update(part.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()[:32]


def _parts(function: Callable[..., Any], seen: set[int]) -> Iterator[str]:
    """The code of a function and what it names; of functions that are already seen only the name."""
    yield f"{function.__module__}.{function.__qualname__}"  # by which Numba names what it makes of it
    if id(function) in seen:
        return
    seen.add(id(function))
    cells: tuple[Any, ...] = getattr(function, "__closure__", None) or ()
    yield repr(function.__defaults__)
    for code in _codes(function.__code__):
        plain = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
        yield f"{code.co_code.hex()} {plain!r} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_flags}"
        for name in code.co_names:
            found = function.__globals__.get(name, getattr(builtins, name, None))
            yield from _named(found, seen)
            if isinstance(found, ModuleType) and found.__name__.partition(".")[0] != "numpy":
                for inner in code.co_names:
                    yield from _named(getattr(found, inner, None), seen)
    for cell in cells:
        yield from _named(cell.cell_contents, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _named(value: Any, seen: set[int]) -> Iterator[str]:
    """What a global name means to the compiler: another kernel, a constant, or something of a library by its name."""
    inner = getattr(value, "py_func", value)
    if hasattr(inner, "__code__"):
        yield repr(sorted(getattr(value, "targetoptions", {}).items()))
        yield from _parts(inner, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, type | ModuleType) or callable(value):
        name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
        yield f"{getattr(value, '__module__', '')}.{name} {getattr(value, '_fields', '')}"
    else:
        yield repr(value)


def fields_of(signature: Any) -> list[tuple[str, ...]]:
    """The names of the fields of named tuples among argument types: code reads them by name, and types do not say."""
    inner: list[tuple[str, ...]] = []
    for kind in signature:
        if hasattr(kind, "fields"):
            inner.append(tuple(map(str, kind.fields)))
        if isinstance(getattr(kind, "types", None), tuple):
            inner += fields_of(kind.types)
    return inner
