# SPDX-License-Identifier: Apache-2.0
"""Tensor expressions: what is to be computed, without how.

>>> A = te.placeholder((1024, 1024), name="A")
>>> k = te.reduce_axis((0, 1024), name="k")
>>> B = te.compute((1024,), lambda i: te.sum(A[i, k], axis=k), name="B")
>>> func = te.create_prim_func([A, B])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core, functions
from .._core import (
    Buffer,
    ComputeOp,
    Expr,
    ExternOp,
    IterVar,
    PlaceholderOp,
    PrimFunc,
    Range,
    ScanOp,
    Tensor,
    Var,
    abs,
    all,
    any,
    const,
    div,
    floordiv,
    floormod,
    if_then_else,
    infinity,
    likely,
    max_value,
    min_value,
    select,
    truncdiv,
    truncmod,
)
from .._core import pow as power
from ..argument_errors import explained
from ..functions import *
from . import nn
from .arithmetic import add, multiply, subtract
from .axes import reduce_axis, thread_axis
from .external import extern, extern_primfunc
from .gradients import gradient
from .layouts import AXIS_SEPARATOR
from .operations import compute, placeholder, scan
from .reducers import Reducer, comm_reducer, max, min, prod, sum
from .schedule import Schedule, Stage, TensorIntrin, create_schedule, decl_tensor_intrin
from .shapes import Shape, size_var, var
from .tags import tag_scope

__all__ = [
    "AXIS_SEPARATOR",
    "Buffer",
    "ComputeOp",
    "Expr",
    "ExternOp",
    "IterVar",
    "PlaceholderOp",
    "PrimFunc",
    "Range",
    "Reducer",
    "ScanOp",
    "Schedule",
    "Shape",
    "Stage",
    "Tensor",
    "TensorIntrin",
    "Var",
    "abs",
    "add",
    "all",
    "any",
    "comm_reducer",
    "compute",
    "const",
    "create_prim_func",
    "create_schedule",
    "decl_tensor_intrin",
    "div",
    "extern",
    "extern_primfunc",
    "floordiv",
    "floormod",
    "gradient",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "likely",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "nn",
    "placeholder",
    "power",
    "prod",
    "reduce_axis",
    "scan",
    "select",
    "size_var",
    "subtract",
    "sum",
    "tag_scope",
    "thread_axis",
    "truncdiv",
    "truncmod",
    "var",
]
__all__ += functions.__all__

indexdiv = floordiv
indexmod = floormod


@explained
def create_prim_func(
    ops: Tensor | Var | Sequence[Tensor | Var], index_dtype_override: str | None = None
) -> PrimFunc:
    """Return the function of TensorIR that computes tensors, unscheduled.

    Parameters
    ----------
    ops
        Its parameters: the placeholders, the tensors to compute, and scalar variables.
    index_dtype_override
        ``"int32"`` or ``"int64"`` for all indices; without, they stay as they are written.

    Raises
    ------
    UserError
        For a placeholder that is read but not listed, and for a variable that nothing defines.
    """
    args = [ops] if isinstance(ops, (Tensor, Var)) else list(ops)
    return _core.te_create_prim_func(args, index_dtype_override)


def __getattr__(name: str) -> Any:
    """Refuse a name that is not there, with what says it."""
    from .. import other_words

    operators = {name: f"te.nn.{name}" for name, one in vars(nn).items() if callable(one)}
    other_words.missing("te", name, operators | other_words.TENSOR_EXPRESSIONS, globals())
