# SPDX-License-Identifier: Apache-2.0
"""Schedules of operators: one for all of them, where `tvm` has one for each kind and target."""

from __future__ import annotations

import math
from typing import Any

from loopsmith import te, tir

from ..target import Target
from ..te_graph import AutoInlineInjective, is_injective, operations_of_scans

_OPERATORS = (
    "adaptive_pool argsort batch_matmul batch_norm binarize_pack bitpack broadcast concatenate "
    "conv1d_ncw conv1d_nwc conv1d_transpose_ncw conv2d_NCHWc conv2d_hwcn conv2d_nchw conv2d_nhwc "
    "conv2d_transpose_nchw conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw dense "
    "depthwise_conv2d_NCHWc depthwise_conv2d_nchw depthwise_conv2d_nhwc dilation2d_nchw "
    "dilation2d_nhwc einsum elemwise extern group_conv1d_ncw group_conv1d_nwc group_conv2d_nchw "
    "group_conv2d_nhwc group_conv2d_transpose_nchw injective lrn lstm pool pool_grad "
    "reduce scatter softmax sort topk"
)
__all__ = [f"schedule_{name}" for name in _OPERATORS.split()]

_LANES = 16
_THREADS = 128
_FEW = 4096
"""Of fewer elements, each has a block of threads for its reduction."""


def scheduled(outs: Any, *_: Any) -> Any:
    """Return a schedule of tensors for the current target.

    What is computed element by element is inlined. Of each other operation the elements are spread
    over the cores, and those of the outputs over lanes; on a GPU, over threads, which share the
    reductions of few elements.
    """
    tensors = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    schedule = te.create_schedule([tensor.op for tensor in tensors])
    AutoInlineInjective(schedule)
    target = Target.current()
    is_gpu = target is not None and "gpu" in target.keys
    in_scans = operations_of_scans(schedule)
    for stage in schedule.stages:
        op = stage.op
        if any(map(op.same_as, in_scans)):
            continue
        is_output = any(op.same_as(tensor.op) for tensor in tensors)
        if not isinstance(op, te.ComputeOp) or (not is_output and is_injective(op)):
            continue
        if is_gpu:
            _spread_over_threads(stage, op)
        elif op.axis:
            _spread_over_cores(stage, op)
    return schedule


def _spread_over_threads(stage: Any, op: Any) -> None:
    elements = stage.fuse(*op.axis)
    threads = te.thread_axis("threadIdx.x")
    if op.reduce_axis and _count(op.axis) < _FEW:
        # A block for each element, whose threads share the reduction.
        stage.bind(elements, te.thread_axis("blockIdx.x"))
        _, inner = stage.split(stage.fuse(*op.reduce_axis), factor=_THREADS)
        stage.bind(inner, threads)
        return
    outer, inner = stage.split(elements, factor=_THREADS)
    stage.bind(outer, te.thread_axis("blockIdx.x"))
    stage.bind(inner, threads)


def _count(axes: Any) -> int:
    """Return how many elements axes have; of symbolic ones, many."""
    extents = [axis.dom.extent for axis in axes]
    known = [each for each in extents if isinstance(each, (int, tir.IntImm))]
    return math.prod(map(int, known)) if len(known) == len(extents) else _FEW


def _spread_over_cores(stage: Any, op: Any) -> None:
    *outer, last = op.axis
    if is_injective(op):
        last, lanes = stage.split(last, factor=_LANES)
        stage.vectorize(lanes)
    stage.parallel(stage.fuse(*outer) if outer else last)


globals().update(dict.fromkeys(__all__, scheduled))
