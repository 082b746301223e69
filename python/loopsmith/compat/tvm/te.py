# SPDX-License-Identifier: Apache-2.0
"""``tvm.te``: tensor expressions and their schedules."""

from __future__ import annotations

import sys
from typing import Any

import loopsmith.te
import loopsmith.tir

from ..missing import other_names
from . import tag
from . import te_hybrid as hybrid
from . import te_schedule as schedule
from .build_options import decl_tensor_intrin
from .te_intrinsics import compute, create_schedule
from .tir.expr import ceil, const, floor, if_then_else, nearbyint, round, trunc
from .tir.nodes import IndexMap, SizeVar, Var

tag_scope = loopsmith.te.tag_scope
AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR

operation = tensor = sys.modules[__name__]

__all__ = [
    "AXIS_SEPARATOR",
    "ceil",
    "compute",
    "const",
    "create_schedule",
    "decl_tensor_intrin",
    "floor",
    "hybrid",
    "if_then_else",
    "nearbyint",
    "operation",
    "round",
    "schedule",
    "size_var",
    "tag",
    "tag_scope",
    "tensor",
    "trunc",
    "var",
]


def var(name: str = "tindex", dtype: Any = "int32", span: Any = None) -> Any:
    """Return a new variable."""
    return Var.make(name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Any:
    """Return a new variable for a size, which is never negative."""
    return SizeVar.make(name, dtype)


__getattr__ = other_names("tvm.te", loopsmith.te, loopsmith.tir)
