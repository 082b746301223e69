# SPDX-License-Identifier: Apache-2.0
"""The loops and blocks of a program, and how they stand to each other."""

from __future__ import annotations

from typing import Any

from loopsmith import tir

__all__ = ["directly_inside", "enclosing_loops", "places_of", "realize_of"]


def _inside(stmt: Any) -> list[Any]:
    fields = ("init", "body", "then_case", "else_case", "block")
    found = [getattr(stmt, field, None) for field in fields]
    found += list(getattr(stmt, "seq", ()))
    return [each for each in found if isinstance(each, tir.Stmt)]


def places_of(module: Any) -> list[tuple[Any, Any]]:
    """Return the loops and blocks of a module, each with that around it."""
    found: list[tuple[Any, Any]] = []

    def enter(node: Any, around: Any) -> None:
        is_place = isinstance(node, (tir.For, tir.Block))
        if is_place:
            found.append((node, around))
        inner = node if is_place else around
        for child in _inside(node):
            enter(child, inner)

    for func in module.functions:
        enter(func.body, None)
    return found


def enclosing_loops(module: Any, block: Any) -> tuple[list[Any], Any]:
    """Return the loops around a block, outermost first, and the block around them."""
    places = places_of(module)
    loops: list[Any] = []
    outer = next(around for each, around in places if each.same_as(block))
    while isinstance(outer, tir.For):
        loops.insert(0, outer)
        outer = next(around for each, around in places if each.same_as(outer))
    return loops, outer


def directly_inside(module: Any, scope: Any) -> list[Any]:
    """Return the blocks of which a block is the innermost one around."""
    found = []
    for each, _ in places_of(module):
        if isinstance(each, tir.Block):
            around = enclosing_loops(module, each)[1]
            if around is not None and around.same_as(scope):
                found.append(each)
    return found


def realize_of(module: Any, block: Any) -> Any:
    """Return the statement that runs a block."""
    found: list[Any] = []

    def visit(node: Any) -> bool:
        if isinstance(node, tir.BlockRealize) and node.block.same_as(block):
            found.append(node)
        return not found

    for func in module.functions:
        tir.pre_order_visit(func.body, visit)
    return found[0]
