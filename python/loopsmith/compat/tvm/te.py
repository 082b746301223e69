# SPDX-License-Identifier: Apache-2.0
"""``tvm.te``: tensor expressions and their schedules."""

from __future__ import annotations

from typing import Any

import loopsmith.te
import loopsmith.tir

from ..missing import other_names
from . import tag
from .tir.expr import const
from .tir.nodes import IndexMap

tag_scope = loopsmith.te.tag_scope
AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR

__all__ = ["AXIS_SEPARATOR", "const", "create_schedule", "tag", "tag_scope"]


def create_schedule(ops: Any) -> Any:
    """Return the schedule of operations, as `loopsmith.te.create_schedule` makes it."""
    return _te("create_schedule")(ops)


__getattr__ = _te = other_names("tvm.te", loopsmith.te, loopsmith.tir)
