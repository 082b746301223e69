# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir``: TensorIR."""

from __future__ import annotations

import sys
import typing

import loopsmith.te
import loopsmith.tir

from ...missing import other_names
from . import analysis, ir_builder, nodes, schedule, stmt_functor, tensor_intrin, transform
from .data_layout import BijectiveLayout, Layout, bijective_layout, layout
from .expr import (
    all,
    any,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_pure_intrin,
    ceil,
    const,
    decl_buffer,
    floor,
    if_then_else,
    isfinite,
    isinf,
    isnan,
    nearbyint,
    round,
    trunc,
)
from .nodes import (
    Allocate,
    AllocateConst,
    Block,
    BufferRealize,
    For,
    ForKind,
    IndexMap,
    IterVar,
    MatchBufferRegion,
    Prefetch,
    PrimFunc,
    Range,
    SizeVar,
    Var,
    stmt_list,
    stmt_seq,
)
from .schedule import (
    BlockDependenceInfo,
    BlockScope,
    Schedule,
    ScheduleError,
    ScheduleState,
    StmtSRef,
    create_schedule,
)
from .vectors import Any_ as Any
from .vectors import Broadcast, BufferLoad, BufferStore, Call, Cast, IntImm, Ramp, Reduce

# Later generations call blocks of schedules so, apart from those of other languages.
SBlock, SBlockRealize, SBlockScope = Block, loopsmith.tir.BlockRealize, BlockScope

# Files of which programs name what stands here.
op = buffer = function = generic = stmt = sys.modules[__name__]

PrimExpr = loopsmith.tir.Expr

# With an axis, they are reductions; without, they choose among their arguments.
max = loopsmith.te.max
min = loopsmith.te.min
sum = loopsmith.te.sum

__all__ = [
    "Allocate",
    "AllocateConst",
    "Any",
    "BijectiveLayout",
    "Block",
    "BlockDependenceInfo",
    "BlockScope",
    "Broadcast",
    "BufferLoad",
    "BufferRealize",
    "BufferStore",
    "Call",
    "Cast",
    "For",
    "ForKind",
    "IndexMap",
    "IntImm",
    "IterVar",
    "Layout",
    "MatchBufferRegion",
    "Prefetch",
    "PrimExpr",
    "PrimFunc",
    "Ramp",
    "Range",
    "Reduce",
    "SBlock",
    "SBlockRealize",
    "SBlockScope",
    "Schedule",
    "ScheduleError",
    "ScheduleState",
    "SizeVar",
    "StmtSRef",
    "Var",
    "all",
    "analysis",
    "any",
    "bijective_layout",
    "buffer",
    "build",
    "call_intrin",
    "call_pure_intrin",
    "ceil",
    "const",
    "create_schedule",
    "decl_buffer",
    "floor",
    "function",
    "generic",
    "if_then_else",
    "ir_builder",
    "isfinite",
    "isinf",
    "isnan",
    "layout",
    "max",
    "min",
    "nearbyint",
    "nodes",
    "op",
    "round",
    "schedule",
    "stmt",
    "stmt_functor",
    "stmt_list",
    "stmt_seq",
    "sum",
    "tensor_intrin",
    "transform",
    "trunc",
]


def build(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
    """Compile a program, as `tvm.build` does."""
    from ..driver import build as compiled

    return compiled(*args, **kwargs)


__getattr__ = other_names("tvm.tir", loopsmith.tir, loopsmith.te)
