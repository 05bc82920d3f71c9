"""How LLVM optimizes our kernels: as a whole, with all that they call.

Numba optimizes each function on its own before that, declarations of others included, to save memory where there are
many. Two rounds over the whole follow in any case, so that adds a twentieth to the time and nothing to the code.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary


class KernelLibrary(JITCodeLibrary):
    """The code of one kernel, and of those that it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
