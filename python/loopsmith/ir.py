# SPDX-License-Identifier: Apache-2.0
"""What all IR shares: modules, ranges, comparison by structure."""

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
    first_difference,
    structural_equal,
    structural_hash,
)

__all__ = [
    "GlobalVar",
    "IRModule",
    "Node",
    "PointerType",
    "Range",
    "assert_structural_equal",
    "first_difference",
    "make_module",
    "structural_equal",
    "structural_hash",
]

Sequence.register(_core.NodeList)


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


def make_module(
    functions: Mapping[str, _core.PrimFunc], attrs: Mapping[str, Any] | None = None
) -> IRModule:
    """Make a module of functions by name."""
    return IRModule(
        names=[GlobalVar(name) for name in functions],
        functions=list(functions.values()),
        attrs=attrs or {},
    )
