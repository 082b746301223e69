# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir``: TensorIR."""

from __future__ import annotations

import loopsmith.te
import loopsmith.tir

from ...missing import other_names
from . import analysis, ir_builder, nodes, schedule, stmt_functor, transform
from . import nodes as stmt
from .expr import call_pure_intrin, const, decl_buffer
from .nodes import (
    Allocate,
    Block,
    For,
    ForKind,
    IndexMap,
    IterVar,
    PrimFunc,
    Range,
    SizeVar,
    Var,
)
from .schedule import Schedule, ScheduleError, create_schedule

PrimExpr = loopsmith.tir.Expr

# With an axis, they are reductions; without, they choose among their arguments.
max = loopsmith.te.max
min = loopsmith.te.min
sum = loopsmith.te.sum

__all__ = [
    "Allocate",
    "Block",
    "For",
    "ForKind",
    "IndexMap",
    "IterVar",
    "PrimExpr",
    "PrimFunc",
    "Range",
    "Schedule",
    "ScheduleError",
    "SizeVar",
    "Var",
    "analysis",
    "call_pure_intrin",
    "const",
    "create_schedule",
    "decl_buffer",
    "ir_builder",
    "max",
    "min",
    "nodes",
    "schedule",
    "stmt",
    "stmt_functor",
    "sum",
    "transform",
]

__getattr__ = other_names("tvm.tir", loopsmith.tir, loopsmith.te)
