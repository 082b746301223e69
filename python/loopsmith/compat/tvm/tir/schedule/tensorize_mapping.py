# SPDX-License-Identifier: Apache-2.0
"""Which loops of a block an intrinsic can compute."""

from __future__ import annotations

from typing import Any, NamedTuple

import loopsmith.arith as arith
from loopsmith import tir

__all__ = [
    "AutoTensorizeMappingInfo",
    "TensorizeInfo",
    "get_auto_tensorize_mapping_info",
    "get_tensorize_loop_mapping",
]


class TensorizeInfo(NamedTuple):
    """The loops of a block that stand for those of an intrinsic."""

    loop_map: dict[Any, Any]
    """The loop of the intrinsic, by the place of that of the block."""
    desc_loop_indexer: dict[Any, int]
    """The number of each loop of the intrinsic, outermost first."""
    block_iter_paddings: list[int] | None
    """To a multiple of what each axis of the block has to be padded; None where none has to."""


class AutoTensorizeMappingInfo(NamedTuple):
    """How the axes of a block become those of an intrinsic."""

    mappings: list[Any]
    """Maps from the axes of the block; there is one."""
    rhs_iters: list[Any]
    """The axes of the block."""
    lhs_iters: list[Any]
    """The axes of the intrinsic."""


class _Nest(NamedTuple):
    loops: list[Any]
    realize: Any


def _nest_of(body: Any) -> _Nest | None:
    """Return the loops around the one block inside of a statement."""
    loops: list[Any] = []
    node = body
    while True:
        if isinstance(node, tir.For):
            loops.append(node)
            node = node.body
        elif isinstance(node, tir.BlockRealize):
            inner = _nest_of(node.block.body)
            return inner or _Nest(loops, node)
        else:
            return None


def _reduces(axis: Any) -> bool:
    return str(axis.iter_type) == "comm_reduce" or "reduce" in str(axis.iter_type).lower()


def _loop_of(value: Any, loops: list[Any]) -> Any:
    """Return the loop that a binding is a sum of, once, with what no loop of these changes."""
    for loop in loops:
        rest = arith.Analyzer().simplify(value - loop.loop_var)
        used: list[Any] = []
        tir.post_order_visit(rest, used.append)
        if not any(each.same_as(loop.loop_var) for each in used if isinstance(each, tir.Var)):
            return loop
    return None


def get_tensorize_loop_mapping(
    sch: Any, block: Any, desc_func: Any, allow_padding: bool = False
) -> TensorizeInfo | None:
    """Return which loops of a block an intrinsic can compute; None where there are none.

    From the last axis on, each axis of the intrinsic takes the next one of the block that is of
    its kind, and whose loop is a multiple of its own, or may be padded to one.
    """
    from .places import realize_of
    from .state import sref_of

    stmt = sch.get(block)
    realize = realize_of(sch.mod, stmt)
    rvs = list(sch.get_loops(block))
    loops = [sch.get(rv) for rv in rvs]
    nest = _nest_of(desc_func.body)
    if nest is None:
        return None
    axes = list(stmt.iter_vars)
    found: dict[Any, Any] = {}
    paddings = [1] * len(axes)
    place = len(axes) - 1
    for axis, value in reversed(list(zip(nest.realize.block.iter_vars, nest.realize.iter_values))):
        wanted = _loop_of(value, nest.loops)
        while place >= 0 and _reduces(axes[place]) is not _reduces(axis):
            place -= 1
        if place < 0 or wanted is None:
            return None
        loop = _loop_of(realize.iter_values[place], loops)
        if loop is None or not isinstance(loop.extent, tir.IntImm):
            return None
        if int(loop.extent) % int(wanted.extent):
            if not allow_padding:
                return None
            paddings[place] = int(wanted.extent)
        found[sref_of(sch, loop)] = wanted
        place -= 1
    numbers = {loop: number for number, loop in enumerate(nest.loops)}
    return TensorizeInfo(found, numbers, paddings if max(paddings) > 1 else None)


def _operands(block: Any) -> list[list[Any]] | None:
    """Return the indices of a product's result and of its two factors."""
    store = block.body
    if not isinstance(store, tir.BufferStore):
        return None
    loads: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.BufferLoad) and not node.buffer.same_as(store.buffer):
            loads.append(list(node.indices))

    tir.post_order_visit(store.value, visit)
    return [list(store.indices), *loads] if len(loads) == 2 else None


def _uses(indices: list[Any], axis: Any) -> bool:
    found: list[Any] = []
    for index in indices:
        tir.post_order_visit(index, found.append)
    return any(isinstance(each, tir.Var) and each.same_as(axis.var) for each in found)


def _roles(block: Any) -> dict[tuple[bool, ...], list[Any]] | None:
    """Return the axes of a product by which of its operands they index."""
    operands = _operands(block)
    if operands is None:
        return None
    roles: dict[tuple[bool, ...], list[Any]] = {}
    for axis in block.iter_vars:
        roles.setdefault(tuple(_uses(each, axis) for each in operands), []).append(axis)
    return roles


def get_auto_tensorize_mapping_info(
    sch: Any, block: Any, desc_func: Any
) -> AutoTensorizeMappingInfo | None:
    """Return how the axes of a product become those of an intrinsic, several fused into one.

    Axes that index the same operands belong together. Those that index all stay in front. None
    where the intrinsic has an axis that the block has not, or the block has others.
    """
    stmt = sch.get(block)
    nest = _nest_of(desc_func.body)
    ours = _roles(stmt)
    theirs = None if nest is None else _roles(nest.realize.block)
    if nest is None or ours is None or theirs is None:
        return None
    batch = ours.pop((True, True, True), [])
    if set(ours) != set(theirs):
        return None
    axes = list(stmt.iter_vars)
    numbers = {axis.var: place for place, axis in enumerate(axes)}
    wanted = list(nest.realize.block.iter_vars)
    groups = [ours[next(r for r, own in theirs.items() if any(a.var.same_as(w.var) for a in own))]
              for w in wanted]  # fmt: skip

    def mapped(*at: Any) -> list[Any]:
        results = [at[numbers[axis.var]] for axis in batch]
        for group in groups:
            value: Any = None
            for axis in group:
                part = at[numbers[axis.var]]
                value = part if value is None else value * axis.dom.extent + part
            results.append(value)
        return results

    dtype = str(axes[0].var.dtype)
    return AutoTensorizeMappingInfo(
        [arith.index_map(mapped, len(axes), index_dtype=dtype)], axes, wanted
    )
