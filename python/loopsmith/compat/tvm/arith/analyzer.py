# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.analyzer``: facts about variables, and the questions that they answer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag
from typing import Any

import loopsmith as ls
import loopsmith.arith as core
from loopsmith import te, tir
from loopsmith.arith import ModularSet, ProofStrength

from ...missing import MissingName, other_names
from .int_set import IntervalSet, of_core, sets_of

__all__ = ["Analyzer", "ConstIntBound", "Extension", "ModularSet", "ProofStrength"]


class Extension(IntFlag):
    """Further reasoning that may be asked for. Here all of it is always at work."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class _Bounds(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, core.ConstIntBound)


class ConstIntBound(metaclass=_Bounds):
    """Constants between which a value lies."""

    POS_INF = 2**63 - 1
    NEG_INF = -POS_INF

    def __new__(cls, min_value: int, max_value: int) -> Any:
        """Return the bound of Loopsmith."""
        return core.ConstIntBound(min_value, max_value)


class Analyzer(core.Analyzer):
    """Facts about variables."""

    enabled_extensions = Extension.NoExtensions

    def __init__(self) -> None:
        super().__init__()
        self._bound: list[Any] = []
        self._unlimited: list[Any] = []
        self._remainders: list[Any] = []

    def bind(self, var: Any, expr: Any, allow_override: bool = False) -> None:
        """Let a variable be a value or one of a range, from here on.

        Raises
        ------
        RuntimeError
            It has another range already, unless `allow_override`.
        """
        known = any(var.same_as(each) for each in self._bound)
        if known and not allow_override:
            before, after = self.const_int_bound(var), core.Analyzer()
            after.bind(var, expr)
            if before != after.const_int_bound(var):
                raise RuntimeError(
                    f"Trying to update var '{var.name}' with a different const bound: "
                    f"original={before}, new={after.const_int_bound(var)}"
                )
        self._bound.append(var)
        super().bind(var, expr, known)

    def update(self, var: Any, info: Any, override: bool = False) -> None:
        """Let a variable lie within a bound, or leave a remainder, from here on."""
        if isinstance(info, ModularSet):
            remainder = ls.tir.floormod(var, info.coeff) == info.base
            self._remainders.append(self.constraint_scope(remainder))
            self._remainders[-1].__enter__()
            return
        if not isinstance(info, core.ConstIntBound):
            raise MissingName(f"tvm.arith.Analyzer.update({type(info).__name__})")
        self._bound.append(var)
        ends = (info.min_value, info.max_value)
        if ends[0] == ends[1] and abs(ends[0]) == ConstIntBound.POS_INF:
            info = core.ConstIntBound(ConstIntBound.NEG_INF, ConstIntBound.POS_INF)
        self._unlimited = [each for each in self._unlimited if not var.same_as(each)]
        if ConstIntBound.POS_INF in map(abs, ends):
            self._unlimited.append(var)
        super().update(var, info, override)

    def const_int_bound(self, expr: Any) -> Any:
        """Return constants between which an expression lies; a size has no greatest value.

        What was said to have no limit has not that of its type either.
        """
        found = super().const_int_bound(_node(expr))
        is_free = isinstance(expr, ls.tir.Var) and expr.is_size
        if is_free and not self.const_int_bound_is_bound(expr):
            return core.ConstIntBound(0, ConstIntBound.POS_INF)
        return self._without_limits(expr, found) if self._unlimited else found

    def _without_limits(self, expr: Any, found: Any) -> Any:
        """Return a bound whose ends are open where no more than the type limits them."""
        used: list[Any] = []
        tir.post_order_visit(
            expr, lambda node: used.append(node) if isinstance(node, tir.Var) else None
        )
        if not any(var.same_as(each) for var in used for each in self._unlimited):
            return found
        highest = int(te.max_value(expr.dtype))
        low, high = found.min_value, found.max_value
        return core.ConstIntBound(
            ConstIntBound.NEG_INF if low < -highest else low,
            ConstIntBound.POS_INF if high >= highest else high,
        )

    def const_int_bound_is_bound(self, var: Any) -> bool:
        """Return whether a variable was bound or updated."""
        return any(var.same_as(each) for each in self._bound)

    def int_set(self, expr: Any, dom_map: Mapping[Any, Any] | None = None) -> IntervalSet:
        """Return a set with all values of an expression while variables run through their sets."""
        return of_core(core.int_set(self, expr, sets_of(dom_map or {})))

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """Return the simplest form that is known."""
        return self._written(super().simplify(_node(expr), steps), expr)

    def canonical_simplify(self, expr: Any) -> Any:
        """Return an expression as a canonical sum, simplified by rules as well."""
        return self._written(super().simplify(_node(expr), 3), expr)

    def rewrite_simplify(self, expr: Any) -> Any:
        """Return an expression simplified by rules, as close to what was written as they allow."""
        return self._written(super().rewrite_simplify(_node(expr)), expr)

    def _written(self, simple: Any, expr: Any) -> Any:
        """Return a simplified expression with the comparisons and divisions of such programs."""
        return self._truncated(_with_less(simple)) if _truncates(expr) else _with_less(simple)

    def _truncated(self, expr: Any) -> Any:
        """Return an expression whose divisions, where both signs are known, truncate."""

        def turned(node: Any) -> Any:
            to = _TRUNCATING.get(type(node))
            if to is None:
                return None
            is_known = all(super(Analyzer, self).can_prove(each >= 0) for each in (node.a, node.b))
            return to(node.a, node.b) if is_known else None

        return tir.rewrite(expr, after=turned) if isinstance(expr, tir.Expr) else expr

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Return whether two expressions are known to be equal; a text is equal to none."""
        types = [each.dtype for each in (lhs, rhs) if isinstance(each, tir.Expr)]
        return super().can_prove_equal(*(_node(each, *types[:1]) for each in (lhs, rhs)))


_TRUNCATING: dict[type, Any] = {tir.FloorDiv: tir.Div, tir.FloorMod: tir.Mod}


def _truncates(expr: Any) -> bool:
    """Return whether the integer divisions of an expression all round toward zero."""
    found: list[type] = []

    def visit(node: Any) -> None:
        if isinstance(node, (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)):
            found.append(type(node))

    if isinstance(expr, tir.Expr):
        tir.post_order_visit(expr, visit)
    return bool(found) and not any(kind in _TRUNCATING for kind in found)


def _with_less(expr: Any) -> Any:
    """Return an expression with ``b < a`` for ``a > b``, and ``b <= a`` for ``a >= b``."""
    if not isinstance(expr, tir.Expr) or isinstance(expr, (tir.Var, tir.IntImm)):
        return expr

    def turned(node: Any) -> Any:
        if isinstance(node, tir.GT):
            return tir.LT(node.b, node.a)
        return tir.LE(node.b, node.a) if isinstance(node, tir.GE) else None

    return tir.rewrite(expr, after=turned)


def _node(value: Any, *dtype: Any) -> Any:
    return ls.tir.const(value, *dtype) if isinstance(value, (bool, int, float)) else value


__getattr__ = other_names("tvm.arith.analyzer", core)
