# SPDX-License-Identifier: Apache-2.0
"""Graphs of tensor expressions, and stages that are inlined by what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

__all__ = [
    "AutoInlineBroadcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "CreateAttachPath",
    "CreateReadGraph",
    "PostDFSOrder",
    "ScanGetBody",
    "is_element_wise",
    "is_injective",
]


def PostDFSOrder(roots: Sequence[Any], read_graph: Any = None) -> list[Any]:
    """Return the operations that others are made of, each after those that it reads."""
    order: list[Any] = []

    def enter(op: Any) -> None:
        if any(op.same_as(known) for known in order):
            return
        for tensor in op.input_tensors:
            enter(tensor.op)
        order.append(op)

    for root in roots:
        enter(root)
    return order


def CreateReadGraph(roots: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return by operation which tensors it reads."""
    return {op: list(op.input_tensors) for op in PostDFSOrder(roots)}


def CreateAttachPath(sch: Any) -> dict[Any, list[Any]]:
    """Return by operation the loops of other stages that it is computed in, innermost first."""
    placed = sch.normalize()

    def path_of(stage: Any) -> list[Any]:
        parent = stage.attach_stage
        if parent is None:
            return []
        leaves = list(parent.leaf_iter_vars)
        place = next(i for i, axis in enumerate(leaves) if axis.same_as(stage.attach_ivar))
        return [*reversed(leaves[: place + 1]), *path_of(parent)]

    return {stage.op: path_of(stage) for stage in placed.stages}


def ScanGetBody(scan: Any) -> list[Any]:
    """Return the operations that compute the steps of a scan, each after those that it reads."""
    outside = {*scan.state_placeholder, *scan.inputs}
    body: list[Any] = []

    def enter(op: Any) -> bool:
        """Return whether an operation is made from what the steps begin with."""
        if any(op.same_as(known) for known in body):
            return True
        read = [tensor in outside or enter(tensor.op) for tensor in op.input_tensors]
        if any(read):
            body.append(op)
        return any(read)

    for update in scan.update:
        enter(update.op)
    return body


def _loads(op: Any) -> list[Any]:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.ProducerLoad):
            found.append(node)

    for value in op.body:
        tir.post_order_visit(value, visit)
    return found


def is_injective(op: Any) -> bool:
    """Return whether each element is computed by itself, and nothing is summed up."""
    return isinstance(op, te.ComputeOp) and not op.reduce_axis


def is_element_wise(op: Any) -> bool:
    """Return whether each element is computed of those at its own place."""
    if not is_injective(op):
        return False
    axes = [axis.var for axis in op.axis]
    return all(
        len(load.indices) == len(axes)
        and all(index.same_as(axis) for index, axis in zip(load.indices, axes))
        for load in _loads(op)
    )


def operations_of_scans(sch: Any) -> list[Any]:
    """Return the operations that compute rows of scans, or what these are made of in each step."""
    found: list[Any] = []
    for stage in sch.stages:
        if isinstance(stage.op, te.ScanOp):
            found += [*ScanGetBody(stage.op), *(each.op for each in stage.op.init)]
    return found


def _inline(sch: Any, is_inlined: Any) -> None:
    kept = operations_of_scans(sch)
    for stage in sch.stages:
        is_kept = stage.is_output or any(map(stage.op.same_as, kept))
        if is_inlined(stage.op) and not is_kept:
            stage.compute_inline()


def AutoInlineElemWise(sch: Any) -> None:
    """Inline the stages that compute each element of those at its own place; not the outputs."""
    _inline(sch, is_element_wise)


def AutoInlineBroadcast(sch: Any) -> None:
    """Inline the stages that say of themselves that they repeat elements; not the outputs."""
    _inline(sch, lambda op: is_element_wise(op) or getattr(op, "tag", "") == "broadcast")


def AutoInlineInjective(sch: Any) -> None:
    """Inline the stages that compute each element by itself; not the outputs."""
    _inline(sch, is_injective)
