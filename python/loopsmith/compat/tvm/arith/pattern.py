# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.pattern``: forms that are found in expressions."""

from __future__ import annotations

from typing import Any

import loopsmith as ls
import loopsmith.arith as core
from loopsmith import tir

from ...missing import other_names

__all__ = ["detect_common_subexpr"]


class _Counts(dict[Any, int]):
    """Counts by expression: two that are structurally equal are one key."""

    def _key(self, expr: Any) -> Any:
        return next((key for key in self if ls.structural_equal(key, expr)), None)

    def __contains__(self, expr: Any) -> bool:
        return self._key(expr) is not None

    def __getitem__(self, expr: Any) -> int:
        key = self._key(expr)
        if key is None:
            raise KeyError(expr)
        return int(super().__getitem__(key))


def detect_common_subexpr(expr: Any, threshold: int) -> dict[Any, int]:
    """Return the largest parts that occur `threshold` times or more, with how often they do."""
    seen = _Counts()

    def visit(each: Any) -> bool:
        if isinstance(each, tir.Expr) and not isinstance(each, (tir.Var, tir.IntImm, tir.FloatImm)):
            key = seen._key(each)
            dict.__setitem__(
                seen, each if key is None else key, 1 if key is None else seen[key] + 1
            )
        for child in children_of(each):
            visit(child)
        return True

    visit(expr)
    common = [key for key in seen if seen[key] >= threshold]

    def is_part(key: Any) -> bool:
        return any(
            other is not key and seen[other] >= seen[key] and _contains(other, key)
            for other in common
        )

    found = _Counts()
    for key in common:
        if not is_part(key):
            dict.__setitem__(found, key, seen[key])
    return found


def children_of(expr: Any) -> list[Any]:
    """Return the operands of an expression."""
    if isinstance(expr, tir.Call):
        return [arg for arg in expr.args if isinstance(arg, tir.Expr)]
    fields = ("a", "b", "value", "condition", "true_value", "false_value", "base", "stride")
    found = [getattr(expr, field, None) for field in fields]
    found += getattr(expr, "indices", None) or []
    return [each for each in found if isinstance(each, tir.Expr)]


def _contains(whole: Any, part: Any) -> bool:
    return any(
        ls.structural_equal(child, part) or _contains(child, part) for child in children_of(whole)
    )


__getattr__ = other_names("tvm.arith.pattern", core)
