# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.arm_cpu``: schedules of operators for processors of this family."""

from __future__ import annotations

from ...missing import other_names
from .schedules import *
from .schedules import __all__ as _schedules

__all__ = list(_schedules)
__getattr__ = other_names("tvm.topi.arm_cpu")
