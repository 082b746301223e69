# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.ir_builder.tir``: the words ``T.*`` of builders."""

from __future__ import annotations

from typing import Any

import loopsmith.script.tir
from loopsmith import te, tir
from loopsmith.script.ir_builder.tir import arg, axis, func_name, func_ret, prim_func

from ....missing import other_names
from .. import tir as words

__script_space__ = "T"

# Words as later generations call them.
sblock = loopsmith.script.tir.__dict__["block"]
sblock_attr = loopsmith.script.tir.__dict__["block_attr"]
sblock_alloc_buffer = loopsmith.script.tir.__dict__["alloc_buffer"]
Bind = loopsmith.script.tir.__dict__["LetStmt"]


ptr = words.__dict__["handle"]


def comm_reducer(combiner: Any, identity: Any) -> Any:
    """Return the combination of values that a function of both sides says, and what is neutral."""
    types = [each.dtype for each in identity]
    if len(types) == 1:
        return te.comm_reducer(combiner, lambda _: identity[0]).combiner(*types)
    return te.comm_reducer(lambda x, y: combiner(*x, *y), lambda *_: tuple(identity)).combiner(
        *types
    )


def var(dtype: str = "int32", name: str = "") -> Any:
    """Return a new variable."""
    return tir.Var(name=name, dtype=dtype)


__all__ = [
    "Bind",
    "arg",
    "axis",
    "comm_reducer",
    "func_name",
    "func_ret",
    "prim_func",
    "ptr",
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
    "var",
]
__getattr__ = other_names("tvm.script.ir_builder.tir", loopsmith.script.tir)
