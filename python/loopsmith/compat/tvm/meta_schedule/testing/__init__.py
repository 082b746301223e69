# SPDX-License-Identifier: Apache-2.0
"""``tvm.meta_schedule.testing``: programs that schedules are tried on."""

from __future__ import annotations

from ....missing import other_names
from . import te_workload

__all__ = ["te_workload"]
__getattr__ = other_names("tvm.meta_schedule.testing")
