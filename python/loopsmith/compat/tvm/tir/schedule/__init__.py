# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule``: schedules of TensorIR."""

from __future__ import annotations

from typing import Any

import loopsmith.ir
from loopsmith import ScheduleError, tir

from ....missing import other_names
from ..nodes import Alias
from . import analysis, instruction, state, testing
from .instruction import BlockRV, ExprRV, Instruction, InstructionKind, LoopRV, Trace
from .state import BlockDependenceInfo, BlockScope, Dependency, DepKind, ScheduleState, StmtSRef

SBlockRV, SBlockScope = BlockRV, BlockScope

__all__ = [
    "BlockDependenceInfo",
    "BlockRV",
    "BlockScope",
    "DepKind",
    "Dependency",
    "ExprRV",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "SBlockRV",
    "SBlockScope",
    "Schedule",
    "ScheduleDebugMask",
    "ScheduleError",
    "ScheduleState",
    "StmtSRef",
    "Trace",
    "analysis",
    "create_schedule",
    "instruction",
    "state",
    "testing",
]


class ScheduleDebugMask:
    """What a schedule checks of itself: here always all of it."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


class Schedule(Alias, base=tir.Schedule):
    """A program together with the steps that made it what it is."""

    @staticmethod
    def make(
        mod: Any,
        *,
        seed: int | None = None,
        debug_mask: Any = "none",
        error_render_level: Any = "detail",
        enable_check: bool = True,
    ) -> tir.Schedule:
        """Return the schedule of a module; of a function, as ``main``."""
        is_func = isinstance(mod, tir.PrimFunc)
        program = loopsmith.ir.make_module({"main": mod}) if is_func else mod
        return tir.Schedule(
            program, seed=seed, debug_mask=debug_mask, error_render_level=error_render_level
        )


def create_schedule(func: Any) -> tir.Schedule:
    """Return a schedule, as programs of 2021 called it."""
    return Schedule.make(func)


from . import schedule  # noqa: E402  It names what is defined above.

__getattr__ = other_names("tvm.tir.schedule")
