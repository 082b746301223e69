# SPDX-License-Identifier: Apache-2.0
"""TensorIR: its nodes, and functions that make expressions.

Each node class takes its fields by name, ``For(loop_var=i, min=0, extent=8, body=body)``, and shows
them as attributes. Expressions are computed with like numbers; ``a == b`` is an expression whose
truth is whether both are one object.
"""

from __future__ import annotations

from .. import functions
from .._core import (
    BlockRV,
    ExprRV,
    LoopRV,
    Schedule,
    TensorIntrin,
    Trace,
    clone,
    is_well_formed,
    post_order_visit,
    pre_order_visit,
    rewrite,
    substitute,
    verify_well_formed,
)
from ..functions import *
from ..macros import primitive, remove_primitive
from . import arithmetic, definitions, intrinsics, ir_builder, nodes
from .arithmetic import *
from .definitions import *
from .intrinsics import *
from .nodes import *
from .visitor import Rewriter, Visitor, replace

__all__ = [
    "BlockRV",
    "ExprRV",
    "LoopRV",
    "Rewriter",
    "Schedule",
    "TensorIntrin",
    "Trace",
    "Visitor",
    "clone",
    "ir_builder",
    "is_well_formed",
    "post_order_visit",
    "pre_order_visit",
    "primitive",
    "remove_primitive",
    "replace",
    "rewrite",
    "substitute",
    "verify_well_formed",
]
__all__ += (
    functions.__all__
    + arithmetic.__all__
    + definitions.__all__
    + intrinsics.__all__
    + nodes.__all__
)
