# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.ir_builder``: words called from plain Python."""

from __future__ import annotations

from loopsmith.script.ir_builder import IRBuilder

from ....missing import other_names
from . import ir, tir

tirx = s_tir = tir

__all__ = ["IRBuilder", "ir", "s_tir", "tir", "tirx"]
__getattr__ = other_names("tvm.script.ir_builder")
