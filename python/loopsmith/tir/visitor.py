# SPDX-License-Identifier: Apache-2.0
"""Walks over TensorIR as classes: one method for each kind of node."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from typing import Any, TypeVar

from .. import _core
from .._core import Node, pre_order_visit, rewrite

__all__ = ["Rewriter", "Visitor", "replace"]

_N = TypeVar("_N", bound=Node)


@functools.cache
def _fields(kind: Any) -> list[str]:
    """Return the names of the fields of a class of nodes: what its constructor takes."""
    text = kind.__init__.__nb_signature__[0][0].replace("\\0", "...") + ": ..."
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    return [each.arg for each in [*arguments.args, *arguments.kwonlyargs] if each.arg != "self"]


def replace(node: _N, **fields: Any) -> _N:
    """Return a node like another one, with other values of some fields.

    >>> tir.replace(loop, kind="unrolled")
    """
    kind: Any = type(node)
    known = _fields(kind)
    for name in fields:
        if name not in known:
            _core.fail(
                "TypeMismatch",
                "field_exists",
                f"replace: a {type(node).__name__} has no field {name}",
                hint=f"its fields are {', '.join(known)}",
            )
    values = {name: fields.get(name, getattr(node, name)) for name in known}
    buffers = values.get("buffer_map")
    if isinstance(
        buffers, Mapping
    ):  # A function is made with a buffer, or none, for each parameter.
        values["buffer_map"] = [buffers.get(param) for param in values["params"]]
    made: _N = kind(**values)
    return made


class Visitor:
    """Visits nodes: ``visit_For(self, node)`` is called for each For, and so on.

    A method that does not call `visit_children` leaves out what is inside. Nodes without a method
    are walked through.

    Examples
    --------
    >>> class Loops(tir.Visitor):
    ...     def __init__(self):
    ...         self.names = []
    ...     def visit_For(self, node):
    ...         self.names.append(node.loop_var.name)
    ...         self.visit_children(node)
    """

    def visit(self, node: Node) -> None:
        """Visit a node: by the method for its kind, or else all that is inside."""
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            self.visit_children(node)
        else:
            method(node)

    def visit_children(self, node: Node) -> None:
        """Visit each node directly inside of one, in order."""
        is_first = True

        def enter(inner: Any) -> bool:
            nonlocal is_first
            if is_first:
                is_first = False
                return True
            self.visit(inner)
            return False

        pre_order_visit(node, enter)


class Rewriter:
    """Rewrites statements and expressions: ``rewrite_For(self, node)`` gives what replaces a For.

    A method may return the node as it is, or None, to leave it; `rewrite_children` gives it with
    what is inside rewritten. Nodes without a method are rewritten inside.

    Examples
    --------
    >>> class Unrolled(tir.Rewriter):
    ...     def rewrite_For(self, node):
    ...         node = self.rewrite_children(node)
    ...         return tir.replace(node, kind="unrolled")
    """

    def rewrite(self, node: Any) -> Any:
        """Return a function, a statement or an expression rewritten."""
        return rewrite(node, before=self._replacement)

    def rewrite_children(self, node: Any) -> Any:
        """Return a node with what is inside rewritten, itself as it is."""
        is_first = True

        def before(inner: Any) -> Any:
            nonlocal is_first
            if is_first and inner.same_as(node):
                is_first = False
                return None
            return self._replacement(inner)

        return rewrite(node, before=before)

    def _replacement(self, node: Any) -> Any:
        method = getattr(self, f"rewrite_{type(node).__name__}", None)
        return None if method is None else method(node)
