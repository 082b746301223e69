# SPDX-License-Identifier: Apache-2.0
"""How much programs compute, and how much memory they allocate."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from loopsmith import tir

__all__ = ["bytes_of", "calculate_allocated_bytes", "estimate_tir_flops"]

_OPERATIONS = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE",
               "LT", "LE", "GT", "GE", "And", "Or", "Not")  # fmt: skip


def estimate_tir_flops(stmt_or_mod: Any) -> float:
    """Return how many operations a program does on its elements; indices are not counted.

    Raises
    ------
    ValueError
        A loop has no constant extent.
    """
    if isinstance(stmt_or_mod, tir.IRModule):
        estimates = [(func.attrs or {}).get("estimated_flops") for func in stmt_or_mod.functions]
        return sum(
            _operations(func.body) if estimate is None else float(estimate)
            for func, estimate in zip(stmt_or_mod.functions, estimates)
        )
    return _operations(getattr(stmt_or_mod, "body", stmt_or_mod))


def _operations(node: Any) -> float:
    """Return the operations of a statement or an expression."""
    if node is None:
        return 0.0
    kind = type(node).__name__
    if kind == "For":
        if not isinstance(node.extent, tir.IntImm):
            raise ValueError(
                f"estimate_tir_flops: loop {node.loop_var.name} has no constant extent"
            )
        return int(node.extent) * _operations(node.body)
    if kind == "IfThenElse":
        branches = (_operations(node.then_case), _operations(node.else_case))
        return _operations(node.condition) + max(branches)
    if kind == "BlockRealize":
        return _operations(node.block.body)
    if kind in ("Var", "BufferLoad", "BufferRegion"):
        return 0.0
    if kind == "BufferStore":
        return _operations(node.value)
    if kind == "Select":
        values = (_operations(node.true_value), _operations(node.false_value))
        return _operations(node.condition) + max(values)
    inside = _Inside(node).found
    own = kind in _OPERATIONS and str(node.dtype) != "int32"
    return float(own) + sum(_operations(each) for each in inside)


class _Inside(tir.Visitor):
    """What stands directly inside of a node."""

    def __init__(self, node: Any) -> None:
        self.found: list[Any] = []
        self.visit_children(node)

    def visit(self, node: Any) -> None:
        """Take a node, and nothing inside of it."""
        if isinstance(node, (tir.Expr, tir.Stmt)):
            self.found.append(node)


class _Allocations(tir.Visitor):
    """The most memory that is allocated at once, by scope."""

    def __init__(self) -> None:
        self.most: dict[str, int] = defaultdict(int)
        self._now: dict[str, int] = defaultdict(int)

    def visit_Allocate(self, node: Any) -> None:
        count = bytes_of(node.dtype)
        for extent in node.extents:
            count *= int(extent) if isinstance(extent, tir.IntImm) else 0
        self._hold({node.buffer_var.pointer.storage_scope or "global": count}, node)

    def visit_Block(self, node: Any) -> None:
        held: dict[str, int] = defaultdict(int)
        for buffer in node.alloc_buffers:
            count = bytes_of(buffer.dtype)
            for extent in buffer.shape:
                count *= int(extent) if isinstance(extent, tir.IntImm) else 0
            held[buffer.scope()] += count
        self._hold(held, node)

    def _hold(self, held: dict[str, int], node: Any) -> None:
        for scope, count in held.items():
            self._now[scope] += count
            self.most[scope] = max(self.most[scope], self._now[scope])
        self.visit_children(node)
        for scope, count in held.items():
            self._now[scope] -= count


def bytes_of(dtype: Any) -> int:
    """Return how many bytes an element takes."""
    element, _, lanes = str(dtype).partition("x")
    bits = "".join(c for c in element if c.isdigit()) or "8"
    return (int(bits) * int(lanes or 1) + 7) // 8


def calculate_allocated_bytes(func_or_mod: Any) -> dict[str, dict[str, int]]:
    """Return by function and scope the most bytes that are allocated at one time."""
    functions = (
        [("main", func_or_mod)]
        if isinstance(func_or_mod, tir.PrimFunc)
        else [(name.name_hint, func) for name, func in func_or_mod.items()]
    )
    sizes = {}
    for name, func in functions:
        allocations = _Allocations()
        allocations.visit(func.body)
        sizes[name] = dict(allocations.most)
    return sizes
