# SPDX-License-Identifier: Apache-2.0
"""``tvm.error``: the classes of errors."""

from __future__ import annotations

import sys

from loopsmith import InternalError, ScheduleError, ScriptError, UserError

from ..missing import other_names

TVMError = UserError
DiagnosticError = ScriptError
OpError = UserError
base = sys.modules[__name__]

__getattr__ = other_names("tvm.error")
__all__ = ["DiagnosticError", "InternalError", "OpError", "ScheduleError", "TVMError"]
