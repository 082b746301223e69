# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.transform``: passes, by the names of `tvm`, that Loopsmith has as such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopsmith as ls
from loopsmith import tir

from ...missing import other_names
from ..transform import Pass, function_pass

__all__ = ["Apply", "BindTarget", "Filter", "prim_func_pass"]

# What a pass of `tvm` does, as passes of Loopsmith one after the other.
_PASSES = {
    "CommonSubexprElimTIR": ("common_subexpressions",),
    "CompactBufferAllocation": ("compact_buffers",),
    "FlattenBuffer": ("flatten_buffers",),
    "InjectSoftwarePipeline": ("software_pipeline",),
    "InjectVirtualThread": ("inject_virtual_threads",),
    "LoopPartition": ("loop_partition",),
    "LowerInitBlock": ("lower_init",),
    "LowerMatchBuffer": ("lower_match_buffer",),
    "LowerOpaqueBlock": ("lower_blocks",),
    "PlanAndUpdateBufferAllocationLocation": ("plan_allocations",),
    "RemoveNoOp": ("remove_no_op",),
    "RewriteUnsafeSelect": ("rewrite_unsafe_select",),
    "Simplify": ("simplify",),
    "StorageFlatten": ("flatten_buffers",),
    "StorageRewrite": ("storage_rewrite",),
    "UnrollLoop": ("unroll_loops",),
    "VectorizeLoop": ("vectorize_loops",),
}
_FLAGS = {"VectorizeLoop": 1, "StorageFlatten": 2, "LoopPartition": 0}


def _maker(name: str) -> Callable[..., Pass]:
    def make(*flags: Any, **named: Any) -> Pass:
        if named or len(flags) > _FLAGS.get(name, 0):
            raise TypeError(f"{name}() takes no such options here")

        def run(module: Any, _: Any = None) -> Any:
            for each in _PASSES[name]:
                module = ls.run_pass(module, each)
            return module

        skips = name == "VectorizeLoop" and flags and not flags[0]
        return Pass(f"tir.{name}", (lambda module, _=None: module) if skips else run)

    make.__name__ = name
    make.__doc__ = f"Return the pass {name}: {', '.join(_PASSES[name])} of Loopsmith."
    return make


for _name in _PASSES:
    globals()[_name] = _maker(_name)
__all__ += list(_PASSES)


def prim_func_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, **_: Any
) -> Any:
    """Make a pass of a function of a PrimFunc, its module and a context."""
    return function_pass(pass_func, opt_level, name)


def Apply(ftransform: Callable[[tir.PrimFunc], Any]) -> Pass:
    """Return the pass that a function of each PrimFunc is; what it gives None for goes."""

    def run(module: Any, _: Any = None) -> Any:
        done = [(name, ftransform(func)) for name, func in module.items()]
        kept = [(name, func) for name, func in done if func is not None]
        return tir.IRModule(
            names=[name for name, _ in kept],
            functions=[func for _, func in kept],
            attrs=module.attrs,
        )

    return Pass("tir.Apply", run)


def Filter(fcond: Callable[[tir.PrimFunc], bool]) -> Pass:
    """Return the pass that keeps the functions of which a condition holds."""
    return Apply(lambda func: func if fcond(func) else None)


def BindTarget(target: Any) -> Pass:
    """Return the pass that says of each function what it is for."""
    return Apply(lambda func: func.with_attr("target", str(target)))


__getattr__ = other_names("tvm.tir.transform")
