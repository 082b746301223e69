# SPDX-License-Identifier: Apache-2.0
"""Compiles tensor programs into fast native kernels, under a schedule that one can see."""

from . import ir, tir
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
from .ir import assert_structural_equal, structural_equal, structural_hash

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
    "assert_structural_equal",
    "ir",
    "structural_equal",
    "structural_hash",
    "tir",
]
