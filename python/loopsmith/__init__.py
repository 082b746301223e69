# SPDX-License-Identifier: Apache-2.0
"""Compiles tensor programs into fast native kernels, under a schedule that one can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import arith, host, interp, ir, other_words, script, signatures, te, tir, transform
from ._core import Function, Module, NDArray, Target, Timing, empty, from_dlpack, zeros
from ._core import version as __version__
from .device import Device, device
from .driver import (
    build,
    default_schedule,
    export_runtime,
    load_module,
    lower,
    run_pass,
)
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
from .host import get_global_func, register_func, remove_global_func
from .interp import assert_same
from .ir import (
    assert_structural_equal,
    from_json,
    structural_equal,
    structural_hash,
    to_json,
)
from .ndarray import array
from .pass_observers import PassRecord
from .script import from_source
from .timing import Comparison, compare

other_words.install()
signatures.install()

if TYPE_CHECKING:
    from . import inspection, tuning
    from .tuning import tune

__all__ = [
    "BoundsError",
    "CallError",
    "Comparison",
    "Device",
    "FormatError",
    "Function",
    "InternalError",
    "InterpError",
    "LowerError",
    "Module",
    "NDArray",
    "PassRecord",
    "ScheduleError",
    "ScriptError",
    "Target",
    "Timing",
    "TypeMismatch",
    "UserError",
    "__version__",
    "arith",
    "array",
    "assert_same",
    "assert_structural_equal",
    "build",
    "compare",
    "default_schedule",
    "device",
    "empty",
    "export_runtime",
    "from_dlpack",
    "from_json",
    "from_source",
    "get_global_func",
    "host",
    "inspection",
    "interp",
    "ir",
    "load_module",
    "lower",
    "register_func",
    "remove_global_func",
    "run_pass",
    "script",
    "structural_equal",
    "structural_hash",
    "te",
    "tir",
    "to_json",
    "transform",
    "tune",
    "tuning",
    "zeros",
]


LAZY = {"inspection": "inspection", "tuning": "tuning", "tune": "tuning"}
"""What is imported when somebody asks for it, and from where: few programs do."""


def __getattr__(name: str) -> Any:
    """Import what few programs need when somebody asks for it."""
    if name not in LAZY:
        other_words.missing("loopsmith", name, other_words.PACKAGE, __all__)
    from importlib import import_module

    module = import_module(f".{LAZY[name]}", __name__)
    return module if name == LAZY[name] else getattr(module, name)
