# SPDX-License-Identifier: Apache-2.0
"""One order of each reduction, for all schedules, targets and numbers of threads."""

from __future__ import annotations

from typing import Any

from .._core import BlockRV, PrimFunc, Schedule
from ..compiled_program import scheduled_program
from .choices import attempt, constant_extent, uses

PARTIAL_RESULTS = 32
"""A reduction that has nothing else for vectors has so many partial results: one for each lane of
two of the widest vectors, whatever the machine has."""


def fix_order(sch: Schedule) -> None:
    """Give reductions the order in which all further steps have to leave them.

    A reduction with an axis of its result for vectors keeps the order in which it is written. One
    without, as a sum of a row, has `PARTIAL_RESULTS` partial results, each of every so many-th
    element, which are combined at the end. It depends on the program alone.
    """
    if not sch.can_apply("get_block", "root"):
        return
    for block in sch.get_child_blocks("root"):
        axes = sch.get(block).iter_vars
        if any(axis.iter_type == "comm_reduce" for axis in axes):
            _in_lanes(sch, block)


def ordered(func: PrimFunc) -> PrimFunc:
    """Return the program whose results are those of all schedules of this order."""
    sch = Schedule(func)
    fix_order(sch)
    made = scheduled_program(sch, keeps_trace=False)
    assert isinstance(made, PrimFunc)
    return made.with_attr("tir.is_scheduled", 1)


def _in_lanes(sch: Schedule, block: BlockRV) -> None:
    """Split the reduction of a block into lanes, unless its result has vectors of its own."""
    node = sch.get(block)
    loops = sch.get_loops(block)
    is_reduced = [axis.iter_type == "comm_reduce" for axis in node.iter_vars]
    if len(loops) != len(is_reduced) or not is_reduced[-1] or _has_products(node):
        return
    extent = constant_extent(sch, loops[-1])
    if extent is not None and extent < 2 * PARTIAL_RESULTS:
        return
    _, lane = sch.split(loops[-1], [None, PARTIAL_RESULTS])
    attempt(lambda: sch.rfactor(lane, len(sch.get(block).writes[0].region)))


def _has_products(node: Any) -> bool:
    """Whether two operands leave out different axes of the result: tiles of it are for vectors."""
    spatial = [axis.var for axis in node.iter_vars if axis.iter_type != "comm_reduce"]
    written = {region.buffer.name for region in node.writes}
    left_out = {
        index
        for region in node.reads
        if region.buffer.name not in written
        for index, variable in enumerate(spatial)
        if not any(uses(extent.min, variable) for extent in region.region)
    }
    return len(left_out) > 1
