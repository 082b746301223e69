# SPDX-License-Identifier: Apache-2.0
"""Conditions that hold for all values of some variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopsmith import tir

__all__ = ["narrowed"]

_FALSE = tir.const(False, "bool")
_COMPARISONS: dict[Any, tuple[bool, bool]] = {
    # Whether the left and the right side are at their greatest where the comparison is hardest.
    tir.GT: (False, True),
    tir.GE: (False, True),
    tir.LT: (True, False),
    tir.LE: (True, False),
}


class _NoEnd(Exception):
    """A side has no end that is known."""


def narrowed(expr: Any, ranges: Mapping[Any, Any]) -> Any:
    """Return a condition without the variables that implies `expr` for each of their values.

    Sums, differences, least and greatest values and quotients by positive constants are followed;
    of anything else, memory for one, the condition is false.
    """
    ends = {var: (r.min, r.min + (r.extent - 1)) for var, r in ranges.items()}
    return _condition(expr, ends, True)


def _condition(expr: Any, ends: Mapping[Any, Any], is_asked: bool) -> Any:
    """Return a condition that implies `expr`; with `is_asked` false, one that it implies."""
    refused = _FALSE if is_asked else tir.const(True, "bool")
    kind = type(expr)
    if kind in (tir.And, tir.Or):
        return kind(_condition(expr.a, ends, is_asked), _condition(expr.b, ends, is_asked))
    if kind is tir.Not:
        inner = _condition(expr.a, ends, not is_asked)
        is_known = not isinstance(inner, tir.IntImm) or isinstance(expr.a, tir.IntImm)
        return tir.Not(inner) if is_known else refused
    try:
        if kind is tir.EQ:
            both = (_compared(tir.LE, expr, ends, is_asked), _compared(tir.LE, expr, ends,
                    is_asked, swaps=True))  # fmt: skip
            return tir.And(*both) if _uses(expr, ends) else expr
        if kind is tir.NE:
            both = (_compared(tir.LT, expr, ends, is_asked), _compared(tir.LT, expr, ends,
                    is_asked, swaps=True))  # fmt: skip
            return tir.Or(*both) if _uses(expr, ends) else expr
        if kind in _COMPARISONS:
            return _compared(kind, expr, ends, is_asked)
    except _NoEnd:
        return refused
    if isinstance(expr, (tir.IntImm, tir.Var)):
        return expr
    return refused


def _compared(kind: Any, expr: Any, ends: Any, is_asked: bool, swaps: bool = False) -> Any:
    left, right = (expr.b, expr.a) if swaps else (expr.a, expr.b)
    left_high, right_high = _COMPARISONS[kind]
    if not is_asked:
        left_high, right_high = right_high, left_high
    return kind(_end(left, ends, left_high), _end(right, ends, right_high))


def _end(expr: Any, ends: Any, is_high: bool) -> Any:
    """Return the greatest or the least value of a number."""
    if isinstance(expr, tir.Var):
        known = next((e for var, e in ends.items() if var.same_as(expr)), None)
        return expr if known is None else known[is_high]
    if isinstance(expr, tir.IntImm):
        return expr
    kind = type(expr)
    if kind in (tir.Add, tir.Min, tir.Max):
        return kind(_end(expr.a, ends, is_high), _end(expr.b, ends, is_high))
    if kind is tir.Sub:
        return tir.Sub(_end(expr.a, ends, is_high), _end(expr.b, ends, not is_high))
    if kind in (tir.FloorDiv, tir.Mul) and isinstance(expr.b, tir.IntImm) and expr.b.value > 0:
        return kind(_end(expr.a, ends, is_high), expr.b)
    if kind in (tir.FloorMod, tir.Mod) or _uses(expr, ends) or _reads_memory(expr):
        raise _NoEnd
    return expr


def _uses(expr: Any, ends: Any) -> bool:
    found: list[Any] = []
    tir.post_order_visit(
        expr, lambda node: found.append(node) if isinstance(node, tir.Var) else None
    )
    return any(var.same_as(each) for var in ends for each in found)


def _reads_memory(expr: Any) -> bool:
    found: list[Any] = []
    tir.post_order_visit(
        expr, lambda node: found.append(node) if isinstance(node, tir.BufferLoad) else None
    )
    return bool(found)
