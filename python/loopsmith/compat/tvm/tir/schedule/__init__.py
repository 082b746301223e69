# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule``: schedules of TensorIR."""

from __future__ import annotations

from typing import Any

from loopsmith import ScheduleError
from loopsmith.tir import BlockRV, ExprRV, LoopRV, Trace
from loopsmith.tir import Schedule as _Schedule

from ....missing import other_names
from . import testing

__all__ = [
    "BlockRV",
    "ExprRV",
    "LoopRV",
    "Schedule",
    "ScheduleError",
    "Trace",
    "create_schedule",
    "testing",
]

Schedule = _Schedule


def create_schedule(func: Any) -> _Schedule:
    """Return a schedule, as programs of 2021 called it."""
    return _Schedule(func)


__getattr__ = other_names("tvm.tir.schedule")
