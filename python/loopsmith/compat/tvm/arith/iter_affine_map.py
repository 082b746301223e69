# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.iter_affine_map``: classes of iteration maps."""

from __future__ import annotations

from typing import Any

import loopsmith as ls
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


def same_iter_map(lhs: Any, rhs: Any) -> bool:
    """Return whether two marks, digits or sums of them have the same parts."""
    if type(lhs) is not type(rhs):
        return False
    if isinstance(lhs, core.IterSumExpr):
        pairs = zip(lhs.args, rhs.args)
        is_same = len(lhs.args) == len(rhs.args) and all(same_iter_map(a, b) for a, b in pairs)
        return is_same and ls.structural_equal(lhs.base, rhs.base)
    if isinstance(lhs, core.IterSplitExpr):
        numbers = ("lower_factor", "extent", "scale")
        is_same = all(ls.structural_equal(getattr(lhs, n), getattr(rhs, n)) for n in numbers)
        return is_same and same_iter_map(lhs.source, rhs.source)
    if isinstance(lhs, core.IterMark):
        is_same = same_iter_map(lhs.source, rhs.source)
        return is_same and ls.structural_equal(lhs.extent, rhs.extent)
    return ls.structural_equal(lhs, rhs)


__getattr__ = other_names("tvm.arith.iter_affine_map", core)
