# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.ir_builder.tir``: the words ``T.*`` of builders."""

from __future__ import annotations

import loopsmith.script.tir
from loopsmith.script.ir_builder.tir import arg, axis, func_name, func_ret, prim_func

from ....missing import other_names

__script_space__ = "T"
__all__ = ["arg", "axis", "func_name", "func_ret", "prim_func"]
__getattr__ = other_names("tvm.script.ir_builder.tir", loopsmith.script.tir)
