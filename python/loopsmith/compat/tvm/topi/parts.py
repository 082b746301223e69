# SPDX-License-Identifier: Apache-2.0
"""Operators that take parts of tensors, or put tensors together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir
from loopsmith.arith import Analyzer

from ..tag import INJECTIVE
from .elementwise import broadcast_shape, element_at

__all__ = ["arange", "gather", "layout_transform", "one_hot", "repeat", "split",
           "stack", "strided_slice", "take", "tile", "where"]  # fmt: skip


def _moved(shape: Sequence[Any], place_of: Any, a: Any, name: str) -> Any:
    """Return the tensor whose elements lie in `a` where `place_of` their indices says."""
    return te.compute(list(shape), lambda *i: a(*place_of(i)), name=name, tag=INJECTIVE)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return the elements of `x` where the condition holds, those of `y` elsewhere.

    Shapes broadcast as in NumPy.
    """
    shape: list[Any] = []
    for each in (condition, x, y):
        shape = broadcast_shape(shape, list(each.shape), "where")

    def element(*i: Any) -> Any:
        chosen = element_at(condition, i).astype("bool")
        return te.select(chosen, element_at(x, i), element_at(y, i))

    return te.compute(shape, element, name="T_where", tag=INJECTIVE)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Any:
    """Return the numbers from `start` to before `stop`; from 0 to before `start`, without."""
    begin, end = (0, start) if stop is None else (start, stop)
    if not all(isinstance(each, (int, float)) for each in (begin, end, step)):
        raise ValueError("arange: the ends and the step are to be numbers")
    count = math.ceil((end - begin) / step)
    first, wide = te.const(begin, dtype), te.const(step, dtype)
    return te.compute((count,), lambda i: first + wide * i.astype(dtype), name="T_arange")


def stack(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Return tensors of one shape side by side along a new axis."""
    first = tensors[0]
    at = axis % (len(first.shape) + 1)

    def element(*indices: Any) -> Any:
        rest = (*indices[:at], *indices[at + 1 :])
        value = tensors[0](*rest)
        for number, tensor in enumerate(tensors[1:], 1):
            value = te.if_then_else(indices[at] >= number, tensor(*rest), value)
        return value

    shape = [*first.shape[:at], len(tensors), *first.shape[at:]]
    return te.compute(shape, element, name="T_stack", tag=INJECTIVE)


def split(ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Return equal parts along an axis, or those between the given places."""
    at = axis % len(ary.shape)
    extent = int(ary.shape[at])
    if isinstance(indices_or_sections, int):
        if extent % indices_or_sections:
            raise ValueError(f"split: {extent} is no multiple of {indices_or_sections}")
        size = extent // indices_or_sections
        ends = list(range(0, extent + 1, size))
    else:
        ends = [0, *(int(each) for each in indices_or_sections), extent]

    def part(begin: int, end: int) -> Any:
        shape = [*ary.shape[:at], end - begin, *ary.shape[at + 1 :]]
        return _moved(shape, lambda i: (*i[:at], i[at] + begin, *i[at + 1 :]), ary, "T_split")

    return [part(begin, end) for begin, end in zip(ends, ends[1:])]


def _known(value: Any) -> int | None:
    """Return a number if it is one, else None."""
    return int(value) if isinstance(value, (int, tir.IntImm)) else None


_TO_THE_END = 2**31 - 1


def _end_of_slice(end: Any, extent: Any) -> Any:
    """Return an end of a slice, which may be counted from behind or lie beyond the axis."""
    known, limit = _known(end), _known(extent)
    if known is None:
        return end
    if known < 0:
        return extent + known
    if limit is not None:
        return min(known, limit)
    return extent if known >= _TO_THE_END else known


def _part_of_axis(first: Any, last: Any, step: int, extent: Any) -> tuple[Any, Any]:
    """Return where a slice of an axis begins, and how many elements it has.

    Where one of the ends or the extent is not known, both ends are taken to lie inside, the second
    behind the first.
    """
    known = [_known(each) for each in (first, last, extent)]
    if None not in known:
        start, stop, size = map(int, (first, last, extent))
        found = range(*slice(start, stop, step).indices(size))
        return found.start, len(found)
    if step < 1:
        raise ValueError(f"strided_slice: of an axis of extent {extent}, steps are 1 or more")
    begin, end = (_end_of_slice(each, extent) for each in (first, last))
    return begin, Analyzer().simplify(te.floordiv(end - begin + (step - 1), step))


def strided_slice(
    a: Any,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
) -> Any:
    """Return ``a[begin:end:strides]`` along the first axes, or along `axes`.

    Ends may be expressions; they then lie inside of the tensor.
    """
    if slice_mode not in ("end", "size"):
        raise ValueError(f"strided_slice: slice_mode is {slice_mode!r}, not 'end' or 'size'")
    chosen = range(len(begin)) if axes is None else [axis % len(a.shape) for axis in axes]
    shape, first_of, step_of = list(a.shape), {}, {}
    for place, axis in enumerate(chosen):
        first, last = begin[place], end[place]
        step_of[axis] = int(strides[place]) if strides is not None and slice_mode == "end" else 1
        if slice_mode == "size":
            last = a.shape[axis] if (_known(last) or 0) < 0 else first + last
        first_of[axis], shape[axis] = _part_of_axis(first, last, step_of[axis], a.shape[axis])

    def place_of(indices: Any) -> Any:
        return [
            index * step_of[i] + first_of[i] if i in step_of else index
            for i, index in enumerate(indices)
        ]

    return _moved(shape, place_of, a, "T_strided_slice")


def repeat(a: Any, repeats: int, axis: int = 0) -> Any:
    """Return each element along an axis so many times in a row."""
    at = axis % len(a.shape)
    shape = [*a.shape[:at], a.shape[at] * repeats, *a.shape[at + 1 :]]
    return _moved(shape, lambda i: (*i[:at], i[at] // repeats, *i[at + 1 :]), a, "T_repeat")


def tile(a: Any, reps: Sequence[int]) -> Any:
    """Return a tensor so many times side by side along each axis."""
    more = max(len(reps) - len(a.shape), 0)
    counts = [1] * (len(a.shape) - len(reps)) + list(reps)
    extents = [1] * more + list(a.shape)
    shape = [extent * count for extent, count in zip(extents, counts)]

    def place_of(indices: Any) -> Any:
        return [i % extent for i, extent in zip(indices[more:], a.shape)]

    return _moved(shape, place_of, a, "T_tile")


def take(
    a: Any, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> Any:
    """Return the elements at the places that another tensor holds, along an axis or row by row.

    Places that are not there are the nearest ones (``mode="clip"``), count round (``"wrap"``), or
    are taken as they are (``"fast"``).
    """
    if mode not in ("clip", "wrap", "fast"):
        raise ValueError(f"take: mode is {mode!r}, not 'clip', 'wrap' or 'fast'")

    def within(index: Any, extent: Any) -> Any:
        if mode == "wrap":
            return te.floormod(index, extent)
        return tir.max(tir.min(index, extent - 1), 0) if mode == "clip" else index

    rank = len(indices.shape)
    if axis is None:
        count: Any = 1
        for extent in a.shape:
            count = count * extent

        def flat(*i: Any) -> Any:
            rest = within(indices(*i).astype("int32"), count)
            place: list[Any] = []
            for extent in reversed(a.shape):
                place.insert(0, rest % extent)
                rest = rest // extent
            return a(*place)

        return te.compute(indices.shape, flat, name="T_take", tag=INJECTIVE)
    at, shared = axis % len(a.shape), batch_dims % rank if rank else 0
    own = rank - shared

    def element(*i: Any) -> Any:
        place = indices(*i[:shared], *i[at : at + own]).astype("int32")
        return a(*i[:at], within(place, a.shape[at]), *i[at + own :])

    shape = [*a.shape[:at], *indices.shape[shared:], *a.shape[at + 1 :]]
    return te.compute(shape, element, name="T_take", tag=INJECTIVE)


def gather(data: Any, axis: int, indices: Any) -> Any:
    """Return ``data[i, indices[i, j, k], k]`` for axis 1, and so for others."""
    at = axis % len(data.shape)
    return _moved(
        indices.shape,
        lambda i: (*i[:at], indices(*i).astype("int32"), *i[at + 1 :]),
        data,
        "T_gather",
    )


def one_hot(
    indices: Any, on_value: float, off_value: float, depth: int, axis: int, dtype: str
) -> Any:
    """Return along a new axis `on_value` at the place that an element says, else `off_value`."""
    at = axis % (len(indices.shape) + 1)
    on, off = te.const(on_value, dtype), te.const(off_value, dtype)

    def element(*i: Any) -> Any:
        place = indices(*i[:at], *i[at + 1 :])
        return te.select(tir.EQ(place, i[at].astype(str(place.dtype))), on, off)

    shape = [*indices.shape[:at], depth, *indices.shape[at:]]
    return te.compute(shape, element, name="T_one_hot", tag=INJECTIVE)


def layout_transform(array: Any, src_layout: str, dst_layout: str) -> Any:
    """Return a tensor with the layout ``NCHW16c`` for another one, say ``NCHW``."""
    from ..tir.data_layout import bijective_layout

    layouts = bijective_layout(src_layout, dst_layout)
    shape = layouts.forward_shape(list(array.shape))
    return _moved(shape, lambda i: list(layouts.backward_index(list(i))), array, "T_layout_trans")
