"""Numba's `njit` with a cache on disk that is never in the way: damage is compiled over, and no disk is no error.

Numba's own cache stops on a file that was cut short, mixes up entries that two processes write at once, raises where no
folder can be written, compiles again where a file has another time, and does not where a called kernel changed. Here
every signature has a file of its own, named by what it was compiled from, with a checksum in front, which appears whole
or not at all; what cannot be read is compiled again, and where nothing can be kept, kernels live in memory alone.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.event import Listener, register

from refute.kernels.content import content_of, fields_of
from refute.kernels.folder import is_first_use, kernel_folder, mark_as_used, names_kept, remove_unused
from refute.kernels.loading import rebuilt, unpickled
from refute.kernels.sparing import SparedKernel
from refute.runtime.compiling import COMPILING

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_MAGIC = b"refute kernel 3\n"
_DIGEST = 16


class UncachedKernelsWarning(RuntimeWarning):
    """No folder can be written, so every process compiles its kernels again."""


def njit(
    *, cache: bool, nogil: bool, inline: str = "never", plain: bool = False, few: Callable[..., Any] | None = None
) -> Callable[[Kernel], Kernel]:
    """What compiles a function on first use, as Numba's own does, but with `cache` by a `KernelCache`.

    One that is `plain`, or that a function does the same as for `few` values, is compiled once that is worth it
    (`SparedKernel`).
    """

    compiler: Any = numba.njit

    def compiled(kernel: Kernel) -> Kernel:
        made: Any = compiler(nogil=nogil, inline=inline, no_cfunc_wrapper=True)(kernel)
        if cache and hasattr(made, "enable_caching"):  # a plain function where NUMBA_DISABLE_JIT is set
            made._cache = KernelCache(kernel)
            made.get_call_template = partial(_call_template, made.get_call_template)
            if plain or few is not None:
                made.__class__ = SparedKernel
                made.standin = few
        return cast(Kernel, made)

    return compiled


def _call_template(template: Callable[..., Any], args: Any, kws: Any) -> Any:
    """How Numba calls a kernel from another one, with arguments of these types.

    A literal is as good as any number of its type. Otherwise a kernel that is given 0, or what starts at 0, is compiled
    once for 0 and once for numbers.
    """
    unliteral: Callable[[Any], Any] = numba.types.unliteral
    return template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})


class KernelCache(NullCache):
    """The compiled forms of one function on disk. A folder is looked for when the first one is needed."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        """The folder of the files; None where they live in memory alone."""
        return None if self._folder is None else str(self._folder)

    @property
    def is_kept(self) -> bool:
        """Whether some form of the function was on disk when this process first looked."""
        return self._folder is not None and self._name in names_kept(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compile result for a signature; None when there is none, or none that can be read."""
        if self._folder is None:
            return None
        try:
            kept = self._read(self._file(sig, target_context.codegen()))
            return None if kept is None else rebuilt(target_context, kept)
        except Exception:  # noqa: BLE001  a damaged pickle raises whatever it likes; what cannot be read is made again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a compile result; a disk that does not take it is no reason to stop."""
        if self._folder is None or data.library.has_dynamic_globals:  # which are addresses in this process
            return
        with contextlib.suppress(OSError):
            self._write(self._file(sig, data.codegen), _pickled(data._reduce()))

    def flush(self) -> None:
        """Forgets all forms of the function."""
        if self._folder is not None:
            for file in self._folder.glob(f"{self._name}.*.nbc"):
                file.unlink(missing_ok=True)

    @cached_property
    def _folder(self) -> Path | None:
        found = kernel_folder(Path(self._kernel.__code__.co_filename))
        if found is None:
            _warn_once()
        return found

    @cached_property
    def _name(self) -> str:
        """How the files of the function begin: its name, the Python and Numba that it is for, and what it says."""
        version = f"py{sys.version_info.major}{sys.version_info.minor}-{numba.__version__}"
        return f"{self._kernel.__module__}.{self._kernel.__qualname__}.{version}.{content_of(self._kernel)}"

    def _file(self, sig: Any, codegen: Any) -> Path:
        """Where a signature is kept: the name depends on all that machine code does, so none is ever outdated."""
        facts = repr((str(sig), fields_of(sig), codegen.magic_tuple()))
        assert self._folder is not None
        return self._folder / f"{self._name}.{hashlib.sha256(facts.encode()).hexdigest()[:16]}.nbc"

    def _read(self, file: Path) -> Any:
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        mark_as_used(file)
        start = len(_MAGIC) + _DIGEST
        payload = content[start:]
        return unpickled(payload) if content[:start] == _MAGIC + _digest(payload) else None

    def _write(self, file: Path, payload: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=file.parent, prefix=".kernel-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_MAGIC + _digest(payload) + payload)
            os.replace(draft, file)
            remove_unused(file.parent)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
            raise


class _Watch(Listener):
    """Says when a kernel of ours is compiled, and for how long. Numba compiles while it holds a lock, so in one thread
    at a time; other code that it compiles is none of our business, unless a kernel calls it.

    Meanwhile garbage is not collected: the compiler makes millions of objects that live until it is done, and looking
    at them again and again takes a tenth of its time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._collects = False  # whether garbage is to be collected afterwards
        self._begun = False

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"]
        if self._depth == 0 and isinstance(kernel._cache, KernelCache):
            self._collects = gc.isenabled()
            gc.disable()
            COMPILING.begin(is_first_use)
            self._begun = True
        self._depth += self._depth > 0 or isinstance(kernel._cache, KernelCache)

    def on_end(self, event: Any) -> None:
        self._depth -= self._depth > 0
        if self._depth == 0 and self._begun:
            COMPILING.end()
            self._begun = False
            if self._collects:
                gc.enable()


_listen: Callable[[str, Listener], None] = register
_listen("numba:compile", _Watch())

_pickled: Callable[[object], bytes] = serialize.dumps  # knows how to pickle what Numba makes


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST).digest()


_warned = False


def _warn_once() -> None:
    """Say so once a process, and not in Spark's workers: their driver has said it, and they are many."""
    global _warned
    if not _warned and "pyspark.worker" not in sys.modules:
        _warned = True
        warnings.warn(
            f"Compiled kernels cannot be kept: neither the user's cache nor {Path(__file__).parent / '__pycache__'} "
            "is writable, so every run compiles them again. Set REFUTE_CACHE_DIR to a folder for them.",
            UncachedKernelsWarning,
            stacklevel=2,
        )
