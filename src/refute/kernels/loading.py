"""Kept kernels made ready to run, without what only the compiler reads.

Numba makes ready for a compilation whenever it loads a kernel: it registers all that it can compile, compiles
its runtime, imports the modules of inlined functions, and parses the kernel's code for LLVM, from which other kernels
could inline it. That is a third of a second and 40 MB, and machine code runs without. Here all of it waits for a
compilation.
"""

from __future__ import annotations

import io
import pickle
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import nrt


def unpickled(payload: bytes) -> Any:
    """What a pickle of Numba's holds; modules of Numba that are not there yet stay so."""
    return _Unpickler(io.BytesIO(payload)).load()


def rebuilt(target_context: Any, kept: tuple[Any, ...]) -> Any:
    """The compile result of what its `_reduce` gave, ready to be called and to be linked."""
    _offer_runtime()
    (name, kind, code), described, *others = kept
    rebuild: Any = CompileResult._rebuild
    if kind != "object":
        return rebuild(target_context, *kept)
    machine_code, linkable = code
    stub = _defining(described.llvm_cpython_wrapper_name)
    result = rebuild(target_context, (name, kind, (machine_code, stub)), described, *others)
    _link_on_demand(result.library, linkable)
    return result


@cache
def _offer_runtime() -> None:
    """Tells LLVM where Numba's runtime is. What Numba itself compiles for it is part of each kernel's machine code."""
    runtime: Any = nrt
    for name, address in runtime._nrt.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _environment if found is _rebuild_env else found


def _environment(module: str, consts: list[Any], name: str) -> Any:
    """The constants of a function, as `_rebuild_env` makes them, but that only importing its module gives its globals.

    Compiled code reads the constants alone.
    """
    rebuild: Any = _rebuild_env
    find: Any = lookup_environment
    if module in sys.modules or not module.startswith("numba.") or find(name) is not None:
        return rebuild(module, consts, name)
    make: Any = Environment
    made = make({"__name__": module})
    made.consts[:] = consts
    made.env_name = name
    Environment._memo[name] = made
    return made


def _defining(name: str) -> bytes:
    """Code of a module that defines one function: Numba asks the module, not the machine code, what there is."""
    return bytes(llvm.parse_assembly(f'define void @"{name}"() {{ unreachable }}').as_bitcode())


def _link_on_demand(library: Any, linkable: bytes) -> None:
    """Has the library parse its code when a kernel is compiled that calls this one."""

    def module_for_linking() -> Any:
        del library._get_module_for_linking
        library._shared_module = llvm.parse_bitcode(linkable)
        library._codegen._engine._load_defined_symbols(library._shared_module)
        return library._shared_module

    library._get_module_for_linking = module_for_linking
