# SPDX-License-Identifier: Apache-2.0
"""Checks that run with a program: that each access stays inside of its tensor."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import (
    AssertStmt,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    PrimFunc,
    Select,
    Stmt,
    StringImm,
)
from .tir.visitor import Rewriter, replace


def with_checks(func: PrimFunc) -> PrimFunc:
    """Return a function that stops with an error where an access would leave its tensor.

    Loads under a condition inside of an expression, such as ``T.if_then_else``, are not checked.
    Vectorized loops run one iteration after the other.
    """
    checked: PrimFunc = _Checked().rewrite(func)
    return checked


class _Checked(Rewriter):
    def rewrite_For(self, loop: For) -> For:  # noqa: N802
        inside: For = self.rewrite_children(loop)
        return replace(inside, kind="serial") if loop.kind == "vectorized" else inside

    def rewrite_BufferStore(self, store: BufferStore) -> Stmt:  # noqa: N802
        return _guarded(store, [*_loads(store.value), store])

    def rewrite_Evaluate(self, node: Evaluate) -> Stmt:  # noqa: N802
        return _guarded(node, _loads(node.value))


def _guarded(stmt: Stmt, accesses: list[Any]) -> Stmt:
    for access in accesses:
        for condition, message in _checks_of(access):
            stmt = AssertStmt(condition=condition, message=StringImm(value=message), body=stmt)
    return stmt


def _loads(expr: Expr) -> list[Any]:
    """Return the loads of an expression that are done for certain."""
    found: list[Any] = []

    def enter(node: Any) -> bool:
        if isinstance(node, BufferLoad):
            found.append(node)
        return not isinstance(node, (Call, Select, _core.And, _core.Or))

    _core.pre_order_visit(expr, enter)
    return found


def _checks_of(access: BufferLoad | BufferStore) -> list[tuple[Expr, str]]:
    """Return what must hold for an access, each with what is said where it does not."""
    checks: list[tuple[Expr, str]] = []
    buffer = access.buffer
    for dimension, (index, extent) in enumerate(zip(access.indices, buffer.shape)):
        if isinstance(index, (_core.Ramp, _core.Broadcast)):
            continue
        inside = _core.all(index >= 0, index < extent)
        if isinstance(inside, _core.IntImm) and int(inside):
            continue
        verb = "written" if isinstance(access, BufferStore) else "read"
        message = f"{buffer.name} is {verb} outside of dimension {dimension}: index {index!r}"
        checks.append((inside, message))
    return checks
