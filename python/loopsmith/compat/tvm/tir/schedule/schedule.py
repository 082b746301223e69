# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule.schedule``: where some programs import a schedule's errors from."""

from __future__ import annotations

from loopsmith import ScheduleError

from ....missing import other_names
from . import BlockRV, ExprRV, LoopRV, Schedule

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError"]
__getattr__ = other_names("tvm.tir.schedule.schedule")
