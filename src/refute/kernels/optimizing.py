"""How LLVM optimizes our kernels: once, where Numba's own way takes three rounds.

Numba optimizes each function on its own, then the module of all that a kernel calls, then this module again, so that
few counts of references are left in code that handles many Python objects and arrays. Kernels are loops over arrays
that are given, and have nothing to gain from that.
"""

from __future__ import annotations

import os
from typing import Any

from numba.core.codegen import JITCodeLibrary

MODE = os.environ.get("RFMODE", "fF2")


class KernelLibrary(JITCodeLibrary):
    """The code of one kernel, optimized as a whole."""

    def _optimize_functions(self, ll_module: Any) -> None:
        if "f" not in MODE:
            return super()._optimize_functions(ll_module)
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        if "F" not in MODE:
            return super()._optimize_final_module()
        passes, builder = self._codegen._module_pass_manager(opt=int(MODE[-1]), cost="cheap")
        passes.run(self._final_module, builder)
