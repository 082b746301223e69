# SPDX-License-Identifier: Apache-2.0
"""Names that are not provided: each raises at once, and says what to do instead."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

_WAYS = {
    "tvm.relay": "graphs of operators are not compiled here; write each operator as tensor "
    "expressions or as a script",
    "tvm.relax": "graphs of operators are not compiled here; write each operator as tensor "
    "expressions or as a script",
    "tvm.autotvm": "schedules are not searched for here; ls.build schedules by rule what has no "
    "schedule",
    "tvm.auto_scheduler": "schedules are not searched for here; ls.build schedules by rule what "
    "has no schedule",
    "tvm.meta_schedule": "ls.tune searches for a schedule; see docs/tuning.md for its spaces, "
    "steps and records",
    "tvm.meta_schedule.TuneContext": "ls.default_schedule(func, holes=True) is the space that "
    "ls.tune searches: a schedule whose samples a search decides anew",
    "tvm.dlight": "all rules are one here: take any of dlight.gpu, or ls.default_schedule",
    "tvm.tir.transform": "ls.run_pass runs a pass by its name, ls.lower all of them; "
    'ls.lower(f, dump="all") tells of each',
    "tvm.tir.Schedule.state.replace": "a schedule changes by its steps alone, so that its trace "
    "says how; replace in a ScheduleState of the module, or make a schedule of the changed module",
    "tvm.rpc": "programs run in the process that compiles them; module.export writes files that "
    "other machines run",
    "tvm.micro": "module.export writes C that any compiler takes",
    "tvm.contrib.graph_executor": "graphs of operators are not compiled here; call the functions "
    "of a module one after the other",
    "tvm.te.hybrid": "script reads loops; for all else, write @T.prim_func, and te.extern_primfunc",
    "tvm.IRModule.functions": "module[name] gives a function by its name",
    "tvm.build_config": "the options of build_config are offset_factor, data_alignment, "
    "auto_unroll_max_step, unroll_explicit, partition_const_loop, disable_vectorize and "
    "add_lower_pass",
    "tvm.tir.ProducerRealize": "memory of a stage is allocated (tir.Allocate) and declared "
    "(tir.DeclBuffer)",
    "tvm.tir.any_dim": "write te.var() for a size that is not known",
    "tvm.topi": "write it as te.compute; te.nn has the operators that most programs need",
    "tvm.topi.generic": "ls.build schedules by rule what has no schedule",
    "tvm.topi.x86": "ls.build schedules by rule what has no schedule",
    "tvm.topi.cuda": "ls.build schedules by rule what has no schedule",
    "tvm.topi.testing": "compare with NumPy",
    "tvm.contrib": "call another library by te.extern, as a function that tvm.register_func names, "
    "or by its name in C",
    "tvm.rocm": "programs run on CPUs, and on GPUs by CUDA and OpenCL",
    "tvm.metal": "programs run on CPUs, and on GPUs by CUDA and OpenCL",
    "tvm.vulkan": "programs run on CPUs, and on GPUs by CUDA and OpenCL",
    "tvm.register_object": "nodes are those of loopsmith.tir; tvm.register_func names functions",
    "tvm.register_extension": "nodes are those of loopsmith.tir; tvm.register_func names functions",
    "tvm.support": "loopsmith doctor tells how it was built, and for which processor",
    "tvm.target.codegen": "target_has_features asks for features; ls.Target tells of a target",
    "tvm.target": "write a target as a text, as in 'llvm -mcpu=native'",
    "tvm.te.autodiff": "te.gradient gives the derivatives of a tensor by others",
    "tvm.te.SpecializedCondition": "PrimFunc.specialize fixes sizes, and build makes code for each",
    "tvm.te.schedule": "s.to_tir() gives the steps that a schedule amounts to",
    "tvm.script.printer": "node.script() gives the text of a node, node.show() prints it in colour",
    "tvm.script.highlight": "node.show() prints a node in colour",
    "tvm.testing": "write it with pytest and NumPy",
    "tvm.parser": "tvm.script.from_source reads a program from a text",
    "tvm.instrument": "a class with run_before_pass and run_after_pass is told of each pass",
}


_PASSES = {
    "ls.build checks and takes arguments by itself; calls of functions of the host stay": (
        "CombineContextCall LegalizePackedCalls LowerDeviceStorageAccessInfo LowerTVMBuiltin "
        "MakePackedAPI MakeUnpackedAPI"
    ),
    "ls.build parts a program into what the host does and kernels": (
        "AnnotateDeviceRegions DecorateDeviceScope LowerDeviceKernelLaunch SplitHostDevice"
    ),
    "ls.build moves a loop over threads to the launch that it belongs to; UnifyThreadBinding makes "
    "one loop of each axis": "LiftThreadBinding RemapThreadAxis",
    "LowerCrossThreadReduction writes what threads exchange, too": "LowerThreadAllreduce",
    "ls.build finds fragments of tensor cores and the layout of their operands": (
        "InferFragment InjectPermutedLayout TransformMmaBufferLayout"
    ),
    "ls.build exchanges values within a warp where memory is a warp's": "LowerWarpMemory",
    "ls.build copies asynchronously for targets that do": (
        "InjectPTXAsyncCopy InjectPTXLDG32 LowerAsyncDMA"
    ),
    "sch.cache_read makes a copy, whose loops are scheduled as any others": (
        "InjectCopyIntrin LowerAutoCopy ManifestSharedMemoryLocalStage"
    ),
    "code generators compute narrow floats in wider ones": (
        "BF16ComputeLegalize BF16StorageLegalize BF16Legalize BF16CastElimination BF16Promote "
        "BF16TypeLowering FP8ComputeLegalize FP8StorageLegalize"
    ),
    "sch.rolling_buffer rolls a buffer": "InjectRollingBuffer",
    "ls.build(checks=True) checks each access": "InstrumentBoundCheckers",
    "ls.build(profile=True) times loops": "InstrumentProfileIntrinsics",
    "debuggers are told of lines always": "InstallDebugSpans",
    "there are no types but those of loopsmith.dtypes": "LowerCustomDatatypes",
    "memory is global, shared or a thread's own": ("LowerVtcmAlloc TextureFlatten VerifyVTCMLimit"),
    "constants stay in the function that has them": "ExtractPrimFuncConstants",
    "sch.transform_layout changes a layout, and what it writes beyond": (
        "ApplyLayoutTransforms ReduceBranchingThroughOvercompute UseAssumeToReduceBranches"
    ),
    "no processor here has another beside it": "CoProcSync LiftAttrScope",
    "NarrowDataType(32) narrows what is known to fit": "ForceNarrowIndexToInt32",
    "ls.build takes variables and pointers as they are": "ConvertSSA PointerValueTypeRewrite",
    "Simplify writes divisions in one form": "RenormalizeSplitPattern",
}
_WAYS |= {f"tvm.tir.transform.{one}": way for way, all_ in _PASSES.items() for one in all_.split()}


def way_of(name: str) -> str:
    """Return what to do instead of using a name of `tvm`, by the longest part that is known."""
    known = name
    while known:
        if known in _WAYS:
            return _WAYS[known]
        known = known.rpartition(".")[0]
    return "it is not part of what loopsmith.compat provides; see docs/compat.md for what is"


class MissingName(AttributeError):
    """A name of `tvm` that is not provided here."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not provided: {way_of(name)}")
        self.full_name = name


def other_names(module: str, *sources: types.ModuleType) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module of `tvm`.

    Parameters
    ----------
    module
        Its name, from ``tvm`` on.
    sources
        Modules of Loopsmith, in whose order a name is looked up that the module does not define
        itself. A name that none of them makes public is refused.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        # Python asks for names of its own; those are no part of a program.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        for source in sources:
            if name in source.__all__:
                return getattr(source, name)
        from .imports import part_of

        part = part_of(f"{module}.{name}")
        if part is not None:
            return part
        raise MissingName(f"{module}.{name}")

    return __getattr__
