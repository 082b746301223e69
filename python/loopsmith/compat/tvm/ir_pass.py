# SPDX-License-Identifier: Apache-2.0
"""``tvm.ir_pass`` and ``tvm.tir.ir_pass``: passes over expressions and statements, before 0.7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import loopsmith as ls
import loopsmith.arith
from loopsmith import tir

from ..missing import other_names
from .tir import stmt_functor

__all__ = [
    "CanonicalSimplify",
    "Equal",
    "ExprUseVar",
    "IRTransform",
    "PostOrderVisit",
    "RemoveNoOp",
    "Simplify",
    "Substitute",
    "UnrollLoop",
]


def _on_statement(stmt: Any, name: str) -> Any:
    func = tir.PrimFunc(params=[], buffer_map=[], body=stmt)
    return ls.run_pass(func, name).body


def _simplified(node: Any, vrange: Mapping[Any, Any] | None, how: str) -> Any:
    if isinstance(node, tir.Stmt):
        return _on_statement(node, "simplify")
    analyzer = loopsmith.arith.Analyzer()
    for var, known in (vrange or {}).items():
        analyzer.bind(var, known)
    simplify: Callable[[Any], Any] = getattr(analyzer, how)
    return simplify(tir.const(node))


def Simplify(node: Any, vrange: Mapping[Any, Any] | None = None) -> Any:
    """Return a simpler expression or statement of the same value."""
    return _simplified(node, vrange, "simplify")


def CanonicalSimplify(node: Any, vrange: Mapping[Any, Any] | None = None) -> Any:
    """Return an expression as a canonical sum, or a statement simplified."""
    return _simplified(node, vrange, "canonical_simplify")


def Equal(lhs: Any, rhs: Any) -> bool:
    """Return whether two trees have one structure and the same variables."""
    return ls.structural_equal(tir.const(lhs), tir.const(rhs))


def Substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Return a tree with each use of some variables replaced."""
    return tir.substitute(node, dict(vmap))


def ExprUseVar(expr: Any, var: Any) -> bool:
    """Return whether an expression uses a variable."""
    used: list[Any] = []
    tir.post_order_visit(expr, lambda node: used.append(node) if var.same_as(node) else None)
    return bool(used)


def UnrollLoop(stmt: Any, *_: Any) -> Any:
    """Return a statement with the loops unrolled that say so."""
    return _on_statement(stmt, "unroll_loops")


def RemoveNoOp(stmt: Any) -> Any:
    """Return a statement without parts that do nothing."""
    return _on_statement(stmt, "remove_no_op")


PostOrderVisit = tir.post_order_visit
IRTransform = stmt_functor.ir_transform

__getattr__ = other_names("tvm.ir_pass")
