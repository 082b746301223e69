# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.functor``: classes with a method for each kind of statement and expression."""

from __future__ import annotations

import re
from typing import Any

from loopsmith import tir

from ...missing import other_names

__all__ = ["PyStmtExprMutator", "PyStmtExprVisitor", "mutator", "visitor"]


def _method_of(kind: type) -> str:
    """Return the name of the method for a kind of nodes: ``visit_if_then_else_``."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    return f"visit_{words}_"


def _kinds(base: type) -> list[type]:
    below: list[type] = base.__subclasses__()
    return [kind for each in below for kind in (each, *_kinds(each))]


class _Functor:
    """Calls the method of a node's kind, and by default those of all that is in the node."""

    def visit(self, node: Any) -> Any:
        """Call the method for the kind of a node."""
        return getattr(self, _method_of(type(node)), self.visit_inside)(node)

    visit_stmt = visit_expr = visit

    def visit_inside(self, node: Any) -> Any:
        """Visit all that is in a node; return the node with what its parts have become."""
        raise NotImplementedError


class PyStmtExprVisitor(_Functor):
    """Visits all of a tree; methods of one's own stand in for those of their kinds of nodes."""

    def visit_inside(self, node: Any) -> None:
        """Visit all that is in a node."""

        def entered(part: Any) -> Any:
            if part.same_as(node):
                return None
            self.visit(part)
            return part

        tir.rewrite(node, before=entered)


class PyStmtExprMutator(_Functor):
    """Makes a tree of another: methods of one's own return what their nodes become."""

    def visit_inside(self, node: Any) -> Any:
        """Return a node with what its parts become."""
        return tir.rewrite(
            node, before=lambda part: None if part.same_as(node) else self.visit(part)
        )


for _kind in [*_kinds(tir.Stmt), *_kinds(tir.Expr)]:
    setattr(_Functor, _method_of(_kind), lambda self, op: self.visit_inside(op))


def visitor(cls: type) -> type:
    """Return a class that visits, as it is."""
    return cls


mutator = visitor
__getattr__ = other_names("tvm.tir.functor")
