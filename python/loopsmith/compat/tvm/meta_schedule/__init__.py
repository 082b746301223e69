# SPDX-License-Identifier: Apache-2.0
"""``tvm.meta_schedule``: searches over schedules, by `loopsmith.tune`."""

from __future__ import annotations

from ...missing import other_names
from . import database, testing, tir_integration
from .database import Database
from .tir_integration import ScheduleFn, compile_tir, tune_tir

space_generator = tir_integration

__all__ = [
    "Database",
    "ScheduleFn",
    "compile_tir",
    "database",
    "space_generator",
    "testing",
    "tir_integration",
    "tune_tir",
]
__getattr__ = other_names("tvm.meta_schedule")
