# SPDX-License-Identifier: Apache-2.0
"""What all IR shares: modules, ranges, comparison by structure, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._core import (
    GlobalVar,
    IRModule,
    Node,
    PointerType,
    Range,
    difference_path,
    first_difference,
    json_schema,
    structural_equal,
    structural_hash,
)
from .argument_errors import explained

__all__ = [
    "GlobalVar",
    "IRModule",
    "Node",
    "PointerType",
    "Range",
    "assert_structural_equal",
    "difference_path",
    "first_difference",
    "from_json",
    "json_schema",
    "make_module",
    "structural_equal",
    "structural_hash",
    "to_json",
]

Sequence.register(_core.NodeList)


@explained
def assert_structural_equal(a: Node, b: Node, map_free_vars: bool = False) -> None:
    """Raise a UserError that shows the first difference, unless `a` and `b` are equal by structure.

    Parameters
    ----------
    a, b
        Nodes: functions, modules, statements, expressions.
    map_free_vars
        Whether a free variable of `a` may stand for another one of `b`.
    """
    _core.require_structural_equal(a, b, map_free_vars)


@explained
def make_module(
    functions: Mapping[str, _core.PrimFunc], attrs: Mapping[str, Any] | None = None
) -> IRModule:
    """Make a module of functions by name."""
    return IRModule(
        names=[GlobalVar(name) for name in functions],
        functions=list(functions.values()),
        attrs=attrs or {},
    )


@explained
def to_json(node: Node, *, spans: bool = True) -> str:
    """Return the text of a node and of all that it refers to.

    Shared nodes are written once; numbers are exact. `json_schema` describes the format.

    Parameters
    ----------
    node
        A function, a module, a statement, an expression, ...
    spans
        Whether nodes say where they come from. Sources that are no files then come along.
    """
    return _core.to_json(node, spans=spans)


@explained
def from_json(text: str) -> Any:
    """Return the node that `to_json` wrote, with variables and buffers of its own.

    The text need not be trusted: it takes time and memory in proportion to its length.

    Raises
    ------
    FormatError
        The text is cut off, corrupted, or of a newer release; the message says where.
    """
    return _core.from_json(text)
