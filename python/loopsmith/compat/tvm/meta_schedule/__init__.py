# SPDX-License-Identifier: Apache-2.0
"""``tvm.meta_schedule``: of the search over schedules, the programs that it is tried on."""

from __future__ import annotations

from ...missing import other_names
from . import testing

__all__ = ["testing"]
__getattr__ = other_names("tvm.meta_schedule")
