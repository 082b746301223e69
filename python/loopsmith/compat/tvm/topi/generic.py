# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.generic``, ``x86``, ``cuda`` and others: the same operators and schedules for all."""

from __future__ import annotations

from ...missing import other_names
from . import nn
from .schedules import *
from .schedules import __all__ as _schedules

__all__ = list(_schedules)
__getattr__ = other_names("tvm.topi.generic", nn)
