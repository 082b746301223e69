# SPDX-License-Identifier: Apache-2.0
"""Operators that sort, search and accumulate along an axis, or say how an index is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

from ..tag import INJECTIVE
from .shapes import reshape

__all__ = ["argsort", "cumprod", "cumsum", "einsum", "invert_permutation", "meshgrid",
           "reverse_sequence", "searchsorted", "sequence_mask", "sort", "topk",
           "unravel_index"]  # fmt: skip


def sort(data: Any, axis: int = -1, is_ascend: Any = 1) -> Any:
    """Return the elements along an axis in the order of their values."""
    return te.nn.sort(data, axis, descending=not is_ascend)


def argsort(
    data: Any,
    valid_count: Any = None,
    axis: int = -1,
    is_ascend: Any = 1,
    dtype: str = "float32",
) -> Any:
    """Return the places of the elements along an axis, in the order of their values."""
    if valid_count is not None:
        raise ValueError("argsort: all elements count here; valid_count is None")
    return te.nn.argsort(data, axis, descending=not is_ascend, dtype=dtype)


def topk(
    data: Any,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: Any = False,
    dtype: str = "int64",
) -> Any:
    """Return the k largest elements along an axis, or the smallest, their places, or both."""
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f"topk: ret_type is {ret_type!r}, not 'both', 'values' or 'indices'")
    count = int(data.shape[axis]) if k < 1 else int(k)
    values, places = te.nn.topk(data, count, axis, largest=not is_ascend, dtype=dtype)
    return {"both": [values, places], "values": values, "indices": places}[ret_type]


def _accumulated(operator: Any, data: Any, axis: Any, dtype: Any, exclusive: Any) -> Any:
    flat = reshape(data, (-1,)) if axis is None else data
    return operator(flat, 0 if axis is None else axis, dtype or None, bool(exclusive))


def cumsum(data: Any, axis: Any = None, dtype: Any = None, exclusive: Any = None) -> Any:
    """Return the sum of each element and those before it, along an axis or over all of them."""
    return _accumulated(te.nn.cumsum, data, axis, dtype, exclusive)


def cumprod(data: Any, axis: Any = None, dtype: Any = None, exclusive: Any = None) -> Any:
    """Return the product of each element and those before it; see `cumsum`."""
    return _accumulated(te.nn.cumprod, data, axis, dtype, exclusive)


def einsum(subscripts: str, *operand: Any) -> Any:
    """Return the sum of products that the subscripts say."""
    operands = (
        operand[0] if len(operand) == 1 and isinstance(operand[0], (list, tuple)) else operand
    )
    return te.nn.einsum(subscripts, *operands)


def searchsorted(
    sorted_sequence: Any, values: Any, right: bool = False, dtype: str = "int64"
) -> Any:
    """Return how many elements of a sorted row are before each value, or not after it."""
    if len(sorted_sequence.shape) == 1:
        rows, count = [], sorted_sequence.shape[0]
    else:
        *rows, count = sorted_sequence.shape
    k = te.reduce_axis((0, count), name="k")

    def element(*i: Any) -> Any:
        each, value = sorted_sequence(*i[: len(rows)], k), values(*i)
        is_before = each <= value if right else each < value
        return te.sum(is_before.astype(dtype), axis=k)

    return te.compute(values.shape, element, name="T_searchsorted")


def sequence_mask(data: Any, valid_length: Any, mask_value: float = 0, axis: int = 0) -> Any:
    """Return ``data[t, b, ...]``, or ``data[b, t, ...]``, with a value from a length on."""
    if axis not in (0, 1):
        raise ValueError(f"sequence_mask: axis is {axis}, not 0 or 1")
    value = te.const(mask_value, data.dtype)

    def element(*i: Any) -> Any:
        length = valid_length(i[1 - axis])
        is_behind = i[axis].astype(str(length.dtype)) >= length
        return te.select(is_behind, value, data(*i))

    return te.compute(data.shape, element, name="T_sequence_mask", tag=INJECTIVE)


def reverse_sequence(a: Any, seq_lengths: Any, seq_axis: int = 1, batch_axis: int = 0) -> Any:
    """Return a tensor whose first elements along an axis, so many of each batch, are reversed."""
    along, batch = seq_axis % len(a.shape), batch_axis % len(a.shape)

    def element(*i: Any) -> Any:
        length = seq_lengths(i[batch]).astype("int32")
        index = i[along]
        place = te.if_then_else(te.any(length <= 1, index >= length), index, length - 1 - index)
        return a(*i[:along], place, *i[along + 1 :])

    return te.compute(a.shape, element, name="T_reverse_sequence", tag=INJECTIVE)


def invert_permutation(data: Any) -> Any:
    """Return the place of each number from 0 on in a vector that has each once."""
    k = te.reduce_axis((0, data.shape[0]), name="k")
    one, zero = k.var.astype(data.dtype), te.const(0, data.dtype)
    return te.compute(
        data.shape,
        lambda i: te.sum(te.select(tir.EQ(data(k), i.astype(data.dtype)), one, zero), axis=k),
        name="T_invert_permutation",
    )


def meshgrid(a_tuple: Sequence[Any], indexing: str) -> list[Any]:
    """Return each vector as a tensor over all of them; ``"xy"`` swaps the first two axes."""
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}, not 'ij' or 'xy'")
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = [a_tuple[i].shape[0] if len(a_tuple[i].shape) else 1 for i in order]

    def spread(number: int) -> Any:
        at = order.index(number)
        return te.compute(
            shape, lambda *i: a_tuple[number](i[at]), name="T_meshgrid", tag=INJECTIVE
        )

    return [spread(number) for number in range(len(a_tuple))]


def unravel_index(indices: Any, shape: Any) -> Any:
    """Return the index of each axis of a shape for indices of its elements row by row."""
    count = int(shape.shape[0]) if isinstance(shape, te.Tensor) else len(shape)
    sizes = [shape(i) if isinstance(shape, te.Tensor) else shape[i] for i in range(count)]

    def element(axis: Any, *i: Any) -> Any:
        rest = indices(*i)
        found: list[Any] = []
        for size in reversed(sizes):
            extent = te.const(size, indices.dtype) if isinstance(size, int) else size
            found.insert(0, te.floormod(rest, extent))
            rest = te.floordiv(rest, extent)
        value = found[-1]
        for number in reversed(range(count - 1)):
            value = te.select(axis <= number, found[number], value)
        return value

    return te.compute([count, *indices.shape], element, name="T_unravel", tag=INJECTIVE)
