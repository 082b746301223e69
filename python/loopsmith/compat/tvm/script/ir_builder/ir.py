# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.ir_builder.ir``: the words ``I.*`` of builders."""

from __future__ import annotations

import loopsmith.script.ir
from loopsmith.script.ir_builder.ir import ir_module

from ....missing import other_names

__script_space__ = "I"
__all__ = ["ir_module"]
__getattr__ = other_names("tvm.script.ir_builder.ir", loopsmith.script.ir)
