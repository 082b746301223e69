# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.ir_builder.tir``: the words ``T.*`` of builders."""

from __future__ import annotations

from typing import Any

import loopsmith.script.tir
from loopsmith import tir
from loopsmith.script.ir_builder.tir import arg, axis, func_name, func_ret, prim_func

from ....missing import other_names

__script_space__ = "T"

# Words as later generations call them.
sblock = loopsmith.script.tir.__dict__["block"]
sblock_attr = loopsmith.script.tir.__dict__["block_attr"]
sblock_alloc_buffer = loopsmith.script.tir.__dict__["alloc_buffer"]
Bind = loopsmith.script.tir.__dict__["LetStmt"]


def var(dtype: str = "int32", name: str = "") -> Any:
    """Return a new variable."""
    return tir.Var(name=name, dtype=dtype)


__all__ = [
    "Bind",
    "arg",
    "axis",
    "func_name",
    "func_ret",
    "prim_func",
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
    "var",
]
__getattr__ = other_names("tvm.script.ir_builder.tir", loopsmith.script.tir)
