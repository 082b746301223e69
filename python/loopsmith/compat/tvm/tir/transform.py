# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.transform``: passes, by the names of `tvm`, that Loopsmith has as such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopsmith as ls
from loopsmith import tir

from ...missing import other_names
from ..transform import Pass, PassContext, function_pass, marked_as_asked
from .checks import verify_memory

__all__ = [
    "AnnotateEntryFunc",
    "Apply",
    "BindTarget",
    "ConvertBlocksToOpaque",
    "DefaultGPUSchedule",
    "Filter",
    "LowerInitBlock",
    "RemoveAssume",
    "RemoveStoreUndef",
    "SkipAssert",
    "VerifyMemory",
    "prim_func_pass",
]

# What a pass of `tvm` does, as passes of Loopsmith one after the other.
_PASSES = {
    "CommonSubexprElimTIR": ("common_subexpressions",),
    "CompactBufferAllocation": ("compact_buffers",),
    "FlattenBuffer": ("flatten_buffers",),
    "HoistExpression": ("hoist_invariants",),
    "HoistIfThenElse": ("hoist_invariants",),
    "InjectDoubleBuffer": ("software_pipeline",),
    "InjectPrefetch": ("lower_prefetch",),
    "InjectSoftwarePipeline": ("software_pipeline",),
    "InjectVirtualThread": ("inject_virtual_threads",),
    "LoopPartition": ("loop_partition",),
    "LowerCrossThreadReduction": ("thread_reductions",),
    "LowerIntrin": ("lower_math",),
    "LowerMatchBuffer": ("lower_match_buffer",),
    "LowerOpaqueBlock": ("lower_blocks",),
    "MergeDynamicSharedMemoryAllocations": ("plan_shared_pool",),
    "MergeSharedMemoryAllocations": ("plan_shared_pool",),
    "NarrowDataType": ("narrow_indices",),
    "PlanAndUpdateBufferAllocationLocation": ("plan_allocations",),
    "RemoveNoOp": ("remove_no_op",),
    "RewriteUnsafeSelect": ("rewrite_unsafe_select",),
    "Simplify": ("simplify",),
    "StorageFlatten": ("flatten_buffers",),
    "StorageRewrite": ("storage_rewrite",),
    "ThreadSync": ("insert_barriers",),
    "UnifyThreadBinding": ("unify_threads",),
    "UnrollLoop": ("unroll_loops",),
    "VectorizeLoop": ("vectorize_loops",),
}
_FLAGS = {
    "CompactBufferAllocation": (True,),
    "NarrowDataType": (32,),
    "StorageFlatten": (64, False),
    "ThreadSync": ("shared", "shared.dyn", "warp"),
    "VectorizeLoop": (True, False),
}
"""The values that the arguments of a pass may have."""

_NEED_LOOPS = ("InjectDoubleBuffer", "InjectSoftwarePipeline", "InjectVirtualThread", "ThreadSync",
               "UnifyThreadBinding")  # fmt: skip
"""Passes that look at loops alone. Pipelines are made while there are blocks, which go first."""


def _maker(name: str) -> Callable[..., Pass]:
    def make(*flags: Any, **named: Any) -> Pass:
        taken = _FLAGS.get(name, ())
        if any(flag not in taken for flag in (*flags, *named.values())):
            raise TypeError(f"{name}() takes no such options here")

        def run(module: Any, _: Any = None) -> Any:
            if name in _NEED_LOOPS:
                module = _of_loops(name, module)
            module = marked_as_asked(module, f"tir.{name}")
            if name == "UnrollLoop":
                module = _unrolled_if_short(module)
            for each in _PASSES[name]:
                module = ls.run_pass(module, each)
            return module

        skips = name == "VectorizeLoop" and flags and not flags[0]
        return Pass(f"tir.{name}", (lambda module, _=None: module) if skips else run)

    make.__name__ = name
    make.__doc__ = f"Return the pass {name}: {', '.join(_PASSES[name])} of Loopsmith."
    return make


def _unrolled_if_short(module: Any) -> Any:
    """Return a module whose loops of few iterations are to be unrolled, where that is asked for."""
    limit = PassContext.current().config.get("tir.UnrollLoop", {}).get("auto_max_extent", 0)

    def unrolled(node: Any) -> Any:
        is_short = isinstance(node, tir.For) and str(node.kind) == "serial"
        if not is_short or not isinstance(node.extent, tir.IntImm) or int(node.extent) > limit:
            return None
        return tir.replace(node, kind="unrolled")

    return Apply(lambda func: tir.rewrite(func, after=unrolled))(module) if limit else module


def _block_in(module: Any) -> Any:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.BlockRealize):
            found.append(node.block)

    for func in module.functions.values():
        tir.post_order_visit(func.body, visit)
    return found[0] if found else None


def _of_loops(name: str, module: Any) -> Any:
    """Return a module of loops, for a pass that finds nothing where there are blocks."""
    block = _block_in(module)
    if block is None:
        return module
    if name != "InjectSoftwarePipeline":
        raise ls.UserError(
            f"{name} looks at loops, and block {block.name_hint} is still there: run "
            "LowerOpaqueBlock before it"
        )
    for each in ("mark_stages", "lower_match_buffer", "lower_blocks"):
        module = ls.run_pass(module, each)
    return module


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


def AnnotateEntryFunc() -> Pass:
    """Return the pass that marks the only function of a module as the one to call."""

    def run(module: Any, _: Any = None) -> Any:
        if len(module.functions) != 1:
            return module
        return Apply(lambda func: func.with_attr("tir.is_entry_func", True))(module)

    return Pass("tir.AnnotateEntryFunc", run)


def VerifyMemory() -> Pass:
    """Return the pass that refuses kernels whose arrays are accessed outside of threads."""

    def checked(func: tir.PrimFunc) -> tir.PrimFunc:
        if not verify_memory(func):
            raise RuntimeError(
                f"Memory verification failed: {func.name} accesses arrays of the device outside "
                "of threads.\n  Did you forget to bind?"
            )
        return func

    return Apply(checked)


def DefaultGPUSchedule() -> Pass:
    """Return the pass that schedules for a GPU, by rule, what is for one and has no threads."""

    def scheduled(func: tir.PrimFunc) -> tir.PrimFunc:
        return func if verify_memory(func) else _for_target(func)

    return Apply(scheduled)


def _for_target(func: tir.PrimFunc) -> tir.PrimFunc:
    target = (func.attrs or {})["target"]
    name = str(getattr(target, "value", target))
    made: tir.PrimFunc = ls.default_schedule(func, name).func
    return made


def LowerInitBlock() -> Pass:
    """Return the pass that puts the init of a block in front of its body.

    It runs where the axes of the reduction have their least values. Of axes that may have none,
    the init is one of its own, as ``lower_init`` makes it.
    """

    def started(node: Any) -> Any:
        if not isinstance(node, tir.Block) or node.init is None:
            return None
        axes: list[Any] = [axis for axis in node.iter_vars if axis.iter_type == "comm_reduce"]
        if not all(isinstance(axis.dom.extent, tir.IntImm) for axis in axes):
            return None
        begins = [axis.var == axis.dom.min for axis in axes]
        init = tir.IfThenElse(tir.all(*begins), node.init, None) if begins else node.init
        return tir.replace(node, init=None, body=tir.SeqStmt([init, node.body]))

    return Apply(lambda func: ls.run_pass(tir.rewrite(func, after=started), "lower_init"))


def ConvertBlocksToOpaque() -> Pass:
    """Return the pass that puts what the axes of blocks are bound to in their place."""

    def opaque(node: Any) -> Any:
        if not isinstance(node, tir.BlockRealize) or not node.iter_values:
            return None
        block = node.block
        if block.init is not None:  # Which iterations begin with it is known by its axes.
            raise ls.UserError(
                f"block {block.name_hint} still has an init: run LowerInitBlock before it"
            )
        values: dict[Any, Any] = {
            axis.var: value for axis, value in zip(block.iter_vars, node.iter_values)
        }
        bare = tir.replace(tir.substitute(block, values), iter_vars=[])
        return tir.replace(node, block=bare, iter_values=[])

    return Apply(lambda func: tir.rewrite(func, after=opaque))


def SkipAssert() -> Pass:
    """Return the pass that leaves assertions out."""

    def without(node: Any) -> Any:
        return node.body if isinstance(node, tir.AssertStmt) else None

    return Apply(lambda func: tir.rewrite(func, after=without))


def RemoveAssume() -> Pass:
    """Return the pass that leaves ``T.assume`` out."""

    def without(node: Any) -> Any:
        is_one = isinstance(node, tir.Evaluate) and _is_call(node.value, "tir.assume")
        return tir.Evaluate(0) if is_one else None

    return _without(without)


def RemoveStoreUndef() -> Pass:
    """Return the pass that leaves stores of ``T.undef()`` out."""

    def without(node: Any) -> Any:
        is_one = isinstance(node, tir.BufferStore) and _is_call(node.value, "tir.undef")
        return tir.Evaluate(0) if is_one else None

    return _without(without)


def _is_call(value: Any, name: str) -> bool:
    return isinstance(value, tir.Call) and getattr(value.op, "name", "") == name


def _without(left_out: Callable[[Any], Any]) -> Pass:
    """Return a pass that replaces statements, and then what does nothing."""

    def run(module: Any, _: Any = None) -> Any:
        changed = Apply(lambda func: tir.rewrite(func, after=left_out))(module)
        return ls.run_pass(changed, "remove_no_op")

    return Pass("tir.RemoveNoOp", run)


__getattr__ = other_names("tvm.tir.transform")
