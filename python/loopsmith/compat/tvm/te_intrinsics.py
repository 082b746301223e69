# SPDX-License-Identifier: Apache-2.0
"""Calls of tensor intrinsics in `te.compute`: what they describe, done by the intrinsic."""

from __future__ import annotations

import atexit
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import loopsmith.te
from loopsmith import te, tir

__all__ = ["compute", "create_schedule"]


@dataclass(frozen=True)
class TensorRegion:
    """A part of a tensor: points in some dimensions, slices of constant size in others."""

    tensor: Any
    indices: tuple[Any, ...]

    def at(self, inner: Sequence[Any]) -> Any:
        """Return the element that is ``inner`` behind the start of the slices."""
        rest = iter(inner)
        return self.tensor[
            tuple(
                (0 if each.start is None else each.start) + next(rest)
                if isinstance(each, slice)
                else each
                for each in self.indices
            )
        ]

    def rank(self) -> int:
        """Return the number of slices."""
        return sum(isinstance(each, slice) for each in self.indices)


@dataclass(frozen=True)
class IntrinsicCall:
    """An intrinsic with the regions that it takes, and axes over which results are summed up."""

    intrin: Any
    regions: tuple[TensorRegion, ...]
    numbers: tuple[Any, ...]
    reduce_axis: tuple[Any, ...]

    def values(self, inner: Sequence[Any]) -> list[Any]:
        """Return what the intrinsic's operation describes, at the indices of its own axes."""
        op = self.intrin.op
        regions = dict(zip(op.input_tensors, self.regions))
        own = list(op.reduce_axis)
        fresh = [te.reduce_axis((axis.dom.min, axis.dom.extent), axis.var.name) for axis in own]
        # The first axes of the intrinsic are of one value where the tensor has fewer.
        first = len(op.axis) - len(inner)
        meant = {
            **{axis.var: axis.dom.min for axis in op.axis[: max(first, 0)]},
            **{axis.var: value for axis, value in zip(op.axis[max(first, 0) :], inner)},
            **{axis.var: renewed.var for axis, renewed in zip(own, fresh)},
            **dict(zip(self.intrin.scalar_params, self.numbers)),
        }

        def replaced(node: Any) -> Any:
            if isinstance(node, tir.ProducerLoad):
                return regions[node.producer].at(list(node.indices))
            return None

        def put_in(expr: Any) -> Any:
            return tir.rewrite(tir.substitute(expr, meant), after=replaced)

        axes = [*self.reduce_axis, *fresh]
        return [_over(axes, body, put_in) for body in op.body]


def _over(axes: list[Any], body: Any, put_in: Callable[[Any], Any]) -> Any:
    if not isinstance(body, tir.Reduce):
        if axes:
            raise ValueError("reduce_axis: the intrinsic describes no reduction")
        return put_in(body)
    return tir.Reduce(
        combiner=body.combiner,
        axis=axes,
        source=[put_in(each) for each in body.source],
        init=[put_in(each) for each in body.init],
        condition=put_in(body.condition),
        value_index=body.value_index,
    )


def call(intrin: Any, *regions: Any, reduce_axis: Any = ()) -> IntrinsicCall:
    """Return a call of an intrinsic, for the body of `compute`."""
    axes = reduce_axis if isinstance(reduce_axis, (list, tuple)) else (reduce_axis,)
    inputs = list(intrin.op.input_tensors)
    numbers = tuple(one for one in regions if isinstance(one, (int, float, tir.Expr)))
    regions = tuple(
        _whole(one) if isinstance(one, te.Tensor) else one
        for one in regions
        if not isinstance(one, (int, float, tir.Expr))
    )
    if len(numbers) != len(intrin.scalar_params):
        raise ValueError(
            f"{intrin.name} takes {len(intrin.scalar_params)} numbers, and {len(numbers)} are "
            "given; A[i, j] is one, too, and A[i, j:j + 1] a region"
        )
    if len(regions) != len(inputs) or not all(isinstance(one, TensorRegion) for one in regions):
        raise ValueError(f"{intrin.name} takes regions of {len(inputs)} tensors: A[i, 0:16]")
    for region, tensor in zip(regions, inputs):
        if region.rank() != len(tensor.shape):
            raise ValueError(f"{intrin.name}: {tensor.name} has {len(tensor.shape)} dimensions")
    return IntrinsicCall(intrin, regions, numbers, tuple(axes))


def _whole(tensor: Any) -> TensorRegion:
    """Return all of a tensor; of a slice of another one, that part of it."""
    return _slices.get(tensor) or TensorRegion(tensor, tuple(slice(0, n) for n in tensor.shape))


_slices: dict[Any, TensorRegion] = {}
"""The regions that slices of tensors are, by what they give."""
atexit.register(_slices.clear)


def remember_slice(found: Any, tensor: Any, indices: Any) -> None:
    """Remember what part of a tensor another one is."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    is_region = all(isinstance(each, slice) and each.step is None for each in parts)
    if is_region and len(parts) == len(tensor.shape):
        _slices[found] = TensorRegion(tensor, parts)


def region_of(tensor: Any, indices: Any) -> TensorRegion | None:
    """Return a region where some indices are slices with ends, and others, or ends, expressions."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    slices = [each for each in parts if isinstance(each, slice)]
    has_slice = any(each.stop is not None for each in slices)
    ends = [end for each in slices for end in (each.start, each.stop)]
    has_point = any(isinstance(each, (tir.Expr, tir.IterVar)) for each in [*parts, *ends])
    is_whole = len(parts) == len(tensor.shape)
    return TensorRegion(tensor, parts) if has_slice and has_point and is_whole else None


_calls: dict[Any, tuple[IntrinsicCall, int]] = {}
"""Of operations that are calls, with the number of their axes outside of the intrinsic."""
atexit.register(_calls.clear)


def compute(shape: Any, fcompute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return a tensor as `loopsmith.te.compute` does; of a call, with the axes of the intrinsic."""
    extents = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    names = [
        each.name
        for each in inspect.signature(fcompute).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty
    ]
    found: list[IntrinsicCall] = []

    def body(*indices: Any) -> Any:
        made = fcompute(*indices[: len(names)])
        if not isinstance(made, IntrinsicCall):
            raise _NoCall
        found.append(made)
        values = made.values(indices[len(names) :])
        return values[0] if len(values) == 1 else values

    if 0 < len(names) < len(extents):
        inner = [f"ax{i}" for i in range(len(extents) - len(names))]
        try:
            result = loopsmith.te.compute(
                extents, body, *args, **{"varargs_names": [*names, *inner], **kwargs}
            )
        except _NoCall:
            return loopsmith.te.compute(shape, fcompute, *args, **kwargs)
        first = result[0] if isinstance(result, tuple) else result
        _calls[first.op] = (found[0], len(names))
        return result
    return loopsmith.te.compute(shape, fcompute, *args, **kwargs)


def is_call(op: Any) -> bool:
    """Return whether an operation is a call of an intrinsic."""
    return op in _calls


class _NoCall(Exception):
    """The body is an expression as others are."""


def create_schedule(ops: Any) -> Any:
    """Return a schedule, in which calls of intrinsics are tensorized already."""
    schedule = loopsmith.te.create_schedule(ops)
    for stage in schedule.stages:
        known = _calls.get(stage.op)
        if known is None:
            continue
        made, outside = known
        op: Any = stage.op
        axes, over = list(op.axis), list(op.reduce_axis)
        summed = len(made.reduce_axis)
        stage.reorder(*axes[:outside], *over[:summed], *axes[outside:], *over[summed:])
        stage.tensorize(axes[outside], made.intrin)
    return schedule
