# SPDX-License-Identifier: Apache-2.0
"""Compiles tensor programs into fast native kernels, under a schedule that one can see."""

from ._core import version as __version__
from .errors import (
    BoundsError,
    CallError,
    FormatError,
    InternalError,
    InterpError,
    LowerError,
    ScheduleError,
    ScriptError,
    TypeMismatch,
    UserError,
)

__all__ = [
    "BoundsError",
    "CallError",
    "FormatError",
    "InternalError",
    "InterpError",
    "LowerError",
    "ScheduleError",
    "ScriptError",
    "TypeMismatch",
    "UserError",
    "__version__",
]
