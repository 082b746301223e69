# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.iter_affine_map``: classes of iteration maps."""

from __future__ import annotations

from typing import Any

import loopsmith.arith as core

from ...missing import other_names

__all__ = ["IterMapExpr", "IterMark", "IterSplitExpr", "IterSumExpr"]

IterMark = core.IterMark
IterSplitExpr = core.IterSplitExpr
IterSumExpr = core.IterSumExpr


class _Any(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (core.IterSplitExpr, core.IterSumExpr))


class IterMapExpr(metaclass=_Any):
    """What a sum of digits and a digit have in common."""


__getattr__ = other_names("tvm.arith.iter_affine_map", core)
