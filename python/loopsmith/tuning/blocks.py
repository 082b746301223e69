# SPDX-License-Identifier: Apache-2.0
"""What generated spaces ask of a block and do with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import BlockRealize, BlockRV, LoopRV, Schedule, pre_order_visit
from .choices import attempt, choose, constant_extent, uses


def is_inlined(sch: Schedule, block: BlockRV) -> bool:
    """Inline a block into its consumers, or not; whether it was."""
    if not sch.can_apply("compute_inline", block):
        return False
    if choose(sch, [0, 1, 1, 1]) == 0:
        return False
    sch.compute_inline(block)
    return True


def reduction_axes(sch: Schedule, block: BlockRV) -> list[int]:
    """Return which axes of a block reduce."""
    axes = sch.get(block).iter_vars
    return [number for number, axis in enumerate(axes) if axis.iter_type == "comm_reduce"]


def axis_kind(sch: Schedule, block: BlockRV, loop: LoopRV) -> str:
    """Return ``spatial``, ``reduction``, or ``mixed``: which axes of a block a loop moves."""
    node = sch.get(loop)
    kinds = {
        "reduction" if axis.iter_type == "comm_reduce" else "spatial"
        for axis, value in zip(sch.get(block).iter_vars, _bindings(sch, block, loop))
        if uses(value, node.loop_var)
    }
    if not kinds:  # It has one iteration.
        return "spatial"
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _bindings(sch: Schedule, block: BlockRV, loop: LoopRV) -> Sequence[Any]:
    """Return the values that a block in a loop gives to its axes."""
    wanted = sch.get(block)
    found: list[Sequence[Any]] = []

    def visit(node: Any) -> bool:
        if isinstance(node, BlockRealize) and node.block.same_as(wanted):
            found.append(node.iter_values)
        return not found

    pre_order_visit(sch.get(loop).body, visit)
    return found[0] if found else []


def loops_without_repeats(sch: Schedule, block: BlockRV, consumer: BlockRV) -> list[LoopRV]:
    """Return the outermost loops of a consumer in which no result of a block is computed again."""
    written = [region.buffer for region in sch.get(block).writes]
    indices = [
        side.min
        for region in sch.get(consumer).reads
        if any(region.buffer.same_as(buffer) for buffer in written)
        for side in region.region
    ]
    found: list[LoopRV] = []
    for loop in sch.get_loops(consumer):
        values = [
            value
            for axis, value in zip(sch.get(consumer).iter_vars, _bindings(sch, consumer, loop))
            if any(uses(index, axis.var) for index in indices)
        ]
        is_told = any(uses(value, sch.get(loop).loop_var) for value in values)
        if not is_told and constant_extent(sch, loop) != 1:
            break
        found.append(loop)
    return found


def fused(sch: Schedule, loops: list[LoopRV]) -> LoopRV | None:
    """Make one loop of some; None where there is none, or where that is refused."""
    if len(loops) < 2:
        return loops[0] if loops else None
    return attempt(lambda: sch.fuse(*loops))
