"""Numba's `njit` with a cache on disk that is never in the way: damage is compiled over, and no disk is no error.

Numba's own cache stops on a file that was cut short, mixes up entries that two processes write at once, and raises
where no folder can be written. Here every signature has a file of its own, with a checksum in front, which appears
whole or not at all; what cannot be read is compiled again, and where nothing can be kept, kernels live in memory alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import serialize
from numba.core.caching import FunctionCache, NullCache

from refute.kernels.loading import rebuilt, unpickled

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_MAGIC = b"refute kernel 1\n"
_DIGEST = 16


class UncachedKernelsWarning(RuntimeWarning):
    """No folder can be written, so every process compiles its kernels again."""


def njit(*, cache: bool, nogil: bool, inline: str = "never") -> Callable[[Kernel], Kernel]:
    """What compiles a function on first use, as Numba's own does, but with `cache` by a `KernelCache`."""

    compiler: Any = numba.njit

    def compiled(kernel: Kernel) -> Kernel:
        made: Any = compiler(nogil=nogil, inline=inline)(kernel)
        if cache and hasattr(made, "enable_caching"):  # a plain function where NUMBA_DISABLE_JIT is set
            made._cache = KernelCache(kernel)
        return cast(Kernel, made)

    return compiled


class KernelCache(NullCache):
    """The compiled forms of one function on disk. A folder is looked for when the first one is needed."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        """The folder of the files; None where they live in memory alone."""
        return None if self._keeper is None else str(self._keeper.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compile result for a signature; None when there is none, or none that can be read."""
        if self._keeper is None:
            return None
        key = self._keeper._index_key(sig, target_context.codegen())
        try:
            kept = self._read(key)
            return None if kept is None else rebuilt(target_context, kept)
        except Exception:  # noqa: BLE001  a damaged pickle raises whatever it likes; what cannot be read is made again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a compile result; a disk that does not take it is no reason to stop."""
        if self._keeper is None or not self._keeper._impl.check_cachable(data):
            return
        key = self._keeper._index_key(sig, data.codegen)
        with contextlib.suppress(OSError):
            self._write(key, _pickled((self._stamp(key), self._keeper._impl.reduce(data))))

    def flush(self) -> None:
        """Forgets all forms of the function."""
        if self._keeper is not None:
            for file in Path(self._keeper.cache_path).glob(f"{self._keeper._impl.filename_base}.*.nbc"):
                file.unlink(missing_ok=True)

    @cached_property
    def _keeper(self) -> Any:
        """Numba's cache of the function, which finds the folder and knows how to take results apart; else None."""
        found_by: Any = FunctionCache
        try:
            found = found_by(self._kernel)
            if os.path.isabs(found.cache_path):  # else a file of the current folder, whoever made it, would be run
                return found
        except (RuntimeError, OSError):  # no folder can be written
            pass
        _warn_once()
        return None

    def _file(self, key: Any) -> Path:
        """Where a signature is kept: the name depends on it, so two processes never swap entries."""
        signature, target, _ = key
        name = hashlib.sha256(repr((numba.__version__, str(signature), target)).encode()).hexdigest()[:16]
        return Path(self._keeper.cache_path) / f"{self._keeper._impl.filename_base}.{name}.nbc"

    def _stamp(self, key: Any) -> tuple[Any, ...]:
        """What has to be the same for an entry to be used: Numba, the source file, the signature and the machine."""
        return numba.__version__, self._keeper._impl.locator.get_source_stamp(), key

    def _read(self, key: Any) -> Any:
        try:
            content = self._file(key).read_bytes()
        except FileNotFoundError:
            return None
        start = len(_MAGIC) + _DIGEST
        payload = content[start:]
        if content[:start] != _MAGIC + _digest(payload):
            return None
        stamp, kept = unpickled(payload)
        return kept if stamp == self._stamp(key) else None

    def _write(self, key: Any, payload: bytes) -> None:
        file = self._file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=file.parent, prefix=".kernel-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_MAGIC + _digest(payload) + payload)
            os.chmod(draft, 0o644)
            os.replace(draft, file)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
            raise


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
            f"compiled kernels cannot be kept: neither {Path(__file__).parent / '__pycache__'} nor the user's cache "
            "is writable, so every run compiles them again. Set NUMBA_CACHE_DIR to a folder for them",
            UncachedKernelsWarning,
            stacklevel=2,
        )
