"""How LLVM optimizes our kernels: once, where Numba's own way takes three rounds.

Numba optimizes each function on its own, then the module of all that a kernel calls, then that module again, so few
counts of references are left in code that handles many Python objects. Kernels are loops over given arrays, which the
one round in the middle makes as fast.
"""

from __future__ import annotations

import os
from typing import Any

from numba.core.codegen import JITCodeLibrary

MODE = os.environ.get("RFMODE", "fF3")


class KernelLibrary(JITCodeLibrary):
    """The code of one kernel, optimized as a whole."""

    def _optimize_functions(self, ll_module: Any) -> None:
        if "f" in MODE:
            ll_module.data_layout = self._codegen._data_layout
        else:
            super()._optimize_functions(ll_module)

    def _optimize_final_module(self) -> None:
        if "F" in MODE:
            codegen: Any = self._codegen
            passes, builder = codegen._module_pass_manager(opt=3, cost="cheap")
            passes.run(self._final_module, builder)
        else:
            super()._optimize_final_module()
