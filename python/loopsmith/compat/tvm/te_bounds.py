# SPDX-License-Identifier: Apache-2.0
"""The ranges of the axes of a schedule, read from the program that it amounts to."""

from __future__ import annotations

from typing import Any

import loopsmith as ls
from loopsmith import tir

from .tir.schedule.places import realize_of

__all__ = ["Bounds", "InferBound"]


class Bounds(dict[Any, Any]):
    """Ranges by axis."""

    def __getitem__(self, axis: Any) -> Any:
        """Return the range of an axis."""
        return super().__getitem__(getattr(axis, "var", axis))


def _root_axes(op: Any) -> list[Any]:
    return [*getattr(op, "axis", ()), *getattr(op, "reduce_axis", ())]


def _block_of(scheduled: Any, name: str) -> Any:
    """Return the block that computes an operation; None where it is inlined.

    A reduction in whose loops others are computed is two blocks, of which the second has all axes.
    """
    for each in (name, f"{name}_update"):
        try:
            return scheduled.get_block(each)
        except ls.ScheduleError:
            continue
    return None


def _computed_at_once(op: Any, realize: Any, own: list[Any], axes: dict[Any, Any]) -> Bounds:
    """Return what of each axis is computed in one iteration of the loops around a stage.

    Parameters
    ----------
    own
        The loops of the stage.
    axes
        By the variable of a loop, that of the axis that it stands for.
    """
    analyzer = ls.arith.Analyzer()
    for loop in own:
        analyzer.bind(loop.loop_var, tir.Range(loop.min, loop.extent))
    first = {loop.loop_var: loop.min for loop in own}
    last = {loop.loop_var: loop.min + loop.extent - 1 for loop in own}
    found = Bounds()
    values = list(realize.iter_values)[-len(_root_axes(op)) :]
    for axis, value in zip(_root_axes(op), values):
        begin, end = tir.substitute(value, first), tir.substitute(value, last)
        extent = analyzer.simplify(end - begin + 1)
        found[axis.var] = tir.Range(analyzer.simplify(tir.substitute(begin, axes)), extent)
    return found


def InferBound(sch: Any) -> Bounds:
    """Return the range of each axis of each stage in the scheduled program.

    That of an axis of an operation is what is computed of it at once, from where on by the axes
    around it; that of a loop is how it runs.
    """
    bounds = Bounds()
    for stage in sch.stages:
        for axis in stage.all_iter_vars:
            if axis.dom is not None:
                bounds[axis.var] = axis.dom
    scheduled = sch.to_tir()
    placed = []
    axes: dict[Any, Any] = {}
    for stage in sch.stages:
        block = _block_of(scheduled, stage.op.name)
        if block is None:
            continue
        loops = [scheduled.get(loop) for loop in scheduled.get_loops(block)]
        own = list(zip(reversed(list(stage.leaf_iter_vars)), reversed(loops)))
        axes.update({loop.loop_var: axis.var for axis, loop in own})
        placed.append((stage, realize_of(scheduled.mod, scheduled.get(block)), own))
    for stage, realize, own in placed:
        for axis, loop in own:
            bounds[axis.var] = tir.Range(loop.min, loop.extent)
        if stage.attach_type == 4:
            bounds.update(_computed_at_once(stage.op, realize, [loop for _, loop in own], axes))
    return bounds
