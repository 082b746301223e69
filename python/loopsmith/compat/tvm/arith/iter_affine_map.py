# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.iter_affine_map``: classes of iteration maps."""

from __future__ import annotations

from typing import Any

import loopsmith as ls
import loopsmith.arith as core
from loopsmith import tir

from ...missing import other_names

__all__ = [
    "IterMapExpr",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "normalize_iter_map_to_expr",
    "subspace_divide",
]

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


def _rank(part: Any) -> float:
    return int(part.scale) if isinstance(part.scale, tir.IntImm) else float("inf")


def normalize_iter_map_to_expr(expr: Any) -> Any:
    """Return a sum of digits as an expression, each digit times its scale."""
    if isinstance(expr, core.IterSumExpr):
        total: Any = None
        for part in sorted(expr.args, key=_rank, reverse=True):
            value = normalize_iter_map_to_expr(part)
            total = value if total is None else total + value
        base = expr.base
        if total is None:
            return base
        return total if isinstance(base, tir.IntImm) and int(base) == 0 else total + base
    if isinstance(expr, core.IterSplitExpr):
        value = normalize_iter_map_to_expr(expr.source.source)
        analyzer = core.Analyzer()
        if not analyzer.can_prove_equal(expr.lower_factor, 1):
            value = tir.floordiv(value, expr.lower_factor)
        if not analyzer.can_prove_equal(expr.lower_factor * expr.extent, expr.source.extent):
            value = tir.floormod(value, expr.extent)
        return value if analyzer.can_prove_equal(expr.scale, 1) else value * expr.scale
    return expr


class _Condition:
    """What holds of the iterators outside or inside of a subspace, in the place of a mark."""

    def __init__(self, extent: Any) -> None:
        self.source, self.extent = 1, extent


def subspace_divide(*args: Any, **options: Any) -> list[Any]:
    """Divide bindings in two; the last row has the conditions as extents of marks."""
    parts = core.subspace_divide(*args, **options)
    if not parts:
        return []
    *rows, conditions = parts
    return [*rows, tuple(map(_Condition, conditions))]


__getattr__ = other_names("tvm.arith.iter_affine_map", core)
