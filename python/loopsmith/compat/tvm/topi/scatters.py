# SPDX-License-Identifier: Apache-2.0
"""Operators that put elements where a tensor says, and others that change a part of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

from ..tag import BROADCAST, INJECTIVE

__all__ = ["adv_index", "collapse_sum", "expand_like", "gather_nd", "matrix_set_diag",
           "ndarray_size", "scatter", "scatter_elements", "scatter_nd", "shape",
           "sliding_window", "sparse_to_dense", "strided_set", "trilu"]  # fmt: skip


def gather_nd(a: Any, indices: Any, batch_dims: int = 0) -> Any:
    """Return the elements, or blocks, at the places ``indices[:, j, ...]``."""
    return te.nn.gather_nd(a, indices, batch_dims)


def scatter_elements(
    data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update"
) -> Any:
    """Return a tensor with ``updates[i, j]`` put at ``[indices[i, j], j]``, or added there."""
    return te.nn.scatter(data, indices, updates, axis, reduction)


def scatter(data: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    """Return a tensor with ``updates[i, j]`` put at ``[indices[i, j], j]``."""
    return te.nn.scatter(data, indices, updates, axis)


def scatter_nd(data: Any, indices: Any, updates: Any, mode: str = "update") -> Any:
    """Return a tensor with updates put at the places ``indices[:, j, ...]``, or added there."""
    return te.nn.scatter_nd(data, indices, updates, mode)


def sparse_to_dense(
    sparse_indices: Any, output_shape: Sequence[int], sparse_values: Any, default_value: Any = 0
) -> Any:
    """Return a tensor of one value, with others at places ``sparse_indices[j, :]``."""
    rank = len(sparse_indices.shape)
    dtype = sparse_values.dtype
    base = te.compute(
        list(output_shape), lambda *i: te.const(default_value, dtype), name="T_default"
    )
    count = 1 if rank == 0 else sparse_indices.shape[0]
    depth = int(sparse_indices.shape[1]) if rank == 2 else 1

    def index(d: Any, j: Any) -> Any:
        return sparse_indices(*([] if rank == 0 else [j] if rank == 1 else [j, d]))

    places = te.compute((depth, count), index, name="T_places", tag=INJECTIVE)
    is_one = len(sparse_values.shape) == 0
    values = te.compute(
        (count,), lambda j: sparse_values() if is_one else sparse_values(j), name="T_values"
    )
    return te.nn.scatter_nd(base, places, values)


def adv_index(data: Any, indices: Sequence[Any]) -> Any:
    """Return ``data[indices[0], indices[1], ...]``, the places broadcast as in NumPy."""
    from .elementwise import broadcast_shape

    shape: list[Any] = []
    for each in indices:
        shape = broadcast_shape(shape, list(each.shape), "adv_index")

    def element(*i: Any) -> Any:
        place = []
        for each in indices:
            own = i[len(shape) - len(each.shape) : len(shape)]
            at = [0 if _is_one(extent) else j for extent, j in zip(each.shape, own)]
            place.append(each(*at).astype("int32"))
        return data(*place, *i[len(shape) :])

    whole = [*shape, *data.shape[len(indices) :]]
    return te.compute(whole, element, name="T_adv_index", tag=INJECTIVE)


def _is_one(extent: Any) -> bool:
    return isinstance(extent, (int, tir.IntImm)) and int(extent) == 1


def strided_set(
    a: Any,
    v: Any,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Return a tensor of which ``[begin:end:strides]`` are the elements of another one."""
    ranges = [
        range(*slice(int(begin[i]), int(end[i]), 1 if strides is None else int(strides[i]))
              .indices(int(a.shape[i])))
        for i in range(len(begin))
    ]  # fmt: skip

    def element(*i: Any) -> Any:
        inside: list[Any] = []
        place: list[Any] = list(i)
        for axis, part in enumerate(ranges):
            first, last = (part[0], part[-1]) if part.step > 0 else (part[-1], part[0])
            inside += [i[axis] >= first, i[axis] <= last]
            inside.append(tir.EQ(te.floormod(i[axis] - part.start, abs(part.step)), 0))
            place[axis] = te.truncdiv(i[axis] - part.start, part.step)
        return te.if_then_else(te.all(*inside), v(*place), a(*i))

    if not all(ranges):
        return te.compute(a.shape, lambda *i: a(*i), name="T_strided_set", tag=INJECTIVE)
    return te.compute(a.shape, element, name="T_strided_set", tag=INJECTIVE)


def expand_like(a: Any, shape_like: Any, axis: Any) -> Any:
    """Return a tensor repeated along new axes, so that it has the shape of another one."""
    rank = len(shape_like.shape)
    added = {i % rank for i in ([axis] if isinstance(axis, int) else axis)}

    def element(*i: Any) -> Any:
        return a(*(index for place, index in enumerate(i) if place not in added))

    return te.compute(shape_like.shape, element, name="T_expand_like", tag=BROADCAST)


def collapse_sum(data: Any, target_shape: Sequence[Any]) -> Any:
    """Return the sums of what broadcasting a shape has repeated."""
    more = len(data.shape) - len(target_shape)
    wide = [1] * more + list(target_shape)
    over = {
        i: te.reduce_axis((0, data.shape[i]), name=f"k{i}")
        for i, extent in enumerate(wide)
        if i < more or (_is_one(extent) and not _is_one(data.shape[i]))
    }

    def element(*indices: Any) -> Any:
        place = [over.get(i, index) for i, index in enumerate([0] * more + list(indices))]
        return te.sum(data(*place), axis=list(over.values())) if over else data(*place)

    return te.compute(list(target_shape), element, name="T_collapse_sum")


def sliding_window(
    data: Any, axis: int, window_shape: Sequence[int], strides: Sequence[int]
) -> Any:
    """Return windows over the axes from one on: where they are, then what is in them."""
    first = axis % len(data.shape)
    kept, sizes = list(data.shape[:first]), list(data.shape[first:])
    counts = [(n - w) // s + 1 for n, w, s in zip(sizes, window_shape, strides)]
    count = len(counts)

    def element(*i: Any) -> Any:
        at, inner = i[first : first + count], i[first + count :]
        return data(*i[:first], *(j * s + k for j, s, k in zip(at, strides, inner)))

    shape = [*kept, *counts, *window_shape]
    return te.compute(shape, element, name="T_sliding_window", tag=INJECTIVE)


def trilu(data: Any, k: Any, upper: bool) -> Any:
    """Return matrices with zeros below a diagonal (`upper`), or above it."""
    zero = te.const(0, data.dtype)

    def element(*i: Any) -> Any:
        row, column = i[-2], i[-1]
        is_kept = column - row >= k if upper else column - row <= k
        return te.select(is_kept, data(*i), zero)

    return te.compute(data.shape, element, name="T_trilu", tag=INJECTIVE)


def matrix_set_diag(data: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Return matrices of which one diagonal has other elements.

    Raises
    ------
    ValueError
        For several diagonals at once.
    """
    offset = k if isinstance(k, int) else k[0]
    if not isinstance(k, int) and (len(k) > 2 or k[0] != k[-1]):
        raise ValueError(f"matrix_set_diag: k is one diagonal here, not {k}; align is {align}")

    def element(*i: Any) -> Any:
        row, column = i[-2], i[-1]
        at = row if offset >= 0 else column
        return te.if_then_else(tir.EQ(column - row, offset), diagonal(*i[:-2], at), data(*i))

    return te.compute(data.shape, element, name="T_matrix_set_diag", tag=INJECTIVE)


def shape(array: Any, dtype: str = "int32") -> Any:
    """Return the extents of a tensor as a vector."""

    def element(i: Any) -> Any:
        value: Any = te.const(0, dtype)
        for axis, extent in enumerate(array.shape):
            size = te.const(extent).astype(dtype)
            value = te.select(tir.EQ(i, axis), size, value)
        return value

    return te.compute((len(array.shape),), element, name="T_shape", tag=INJECTIVE)


def ndarray_size(array: Any, dtype: str = "int32") -> Any:
    """Return the number of elements, as a tensor of one."""
    count: Any = te.const(1, "int32")
    for extent in array.shape:
        count = count * extent
    return te.compute((1,), lambda _: count.astype(dtype), name="T_ndarray_size")
