# SPDX-License-Identifier: Apache-2.0
"""Operators that go along a dimension in order: sorting, running sums and products."""

from __future__ import annotations

from ... import _core
from ..._core import Tensor
from ...argument_errors import explained
from .dimensions import positions
from .loops import as_rows, from_rows, made_by

__all__ = ["argsort", "cumprod", "cumsum", "sort", "topk"]

# Merges sorted runs, from runs of one element on: D. Knuth, The Art of Computer Programming,
# volume 3, 5.2.4. `right` goes first only where it is to: equal elements keep their order.
_ARGSORT = """
@T.prim_func
def argsort(k: T.handle, o: T.handle):
    rows = T.int32()
    count = T.int32()
    columns = T.int32()
    keys = T.match_buffer(k, (rows, count, columns), "{dtype}")
    order = T.match_buffer(o, (rows, count, columns), "int32")
    for row, column in T.grid(rows, columns):
        merged = T.alloc_buffer((count,), "int32")
        for i in range(count):
            order[row, i, column] = i
        width: T.int32 = 1
        while width < count:
            for run in range((count + width * 2 - 1) // (width * 2)):
                middle = T.min(run * width * 2 + width, count)
                end = T.min(run * width * 2 + width * 2, count)
                left: T.int32 = run * width * 2
                right: T.int32 = middle
                for i in range(end - run * width * 2):
                    takes_right: T.bool = False
                    if left >= middle:
                        takes_right = True
                    elif right < end:
                        first = keys[row, order[row, left, column], column]
                        second = keys[row, order[row, right, column], column]
                        takes_right = {goes_first}
                    if takes_right:
                        merged[run * width * 2 + i] = order[row, right, column]
                        right = right + 1
                    else:
                        merged[run * width * 2 + i] = order[row, left, column]
                        left = left + 1
            for i in range(count):
                order[row, i, column] = merged[i]
            width = width * 2
"""

_RUNNING = """
@T.prim_func
def running(x: T.handle, y: T.handle):
    rows = T.int32()
    count = T.int32()
    columns = T.int32()
    X = T.match_buffer(x, (rows, count, columns), "{given}")
    Y = T.match_buffer(y, (rows, count, columns), "{dtype}")
    for row in range(rows):
        for i, column in T.grid(T.min(count, 1), columns):
            Y[row, i, column] = {first}
        for i, column in T.grid(T.max(count - 1, 0), columns):
            Y[row, i + 1, column] = Y[row, i, column] {sign} T.Cast("{dtype}", X[row, {at}, column])
"""


def _order(x: Tensor, place: int, descending: bool) -> Tensor:
    """Return the places of the elements along a dimension in their order, as `as_rows` has them."""
    goes_first = "second > first" if descending else "second < first"
    if "float" in x.dtype:
        # What is no number comes last.
        goes_first = f"({goes_first}) or (first != first and second == second)"
    text = _ARGSORT.format(dtype=x.dtype, goes_first=goes_first)
    return made_by(text, [as_rows(x, place)], f"{x.name}_order")


@explained
def argsort(x: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int64") -> Tensor:
    """Return the places of the elements along a dimension, in the order of their values.

    Equal elements keep their order; what is no number comes last.
    """
    (place,) = positions("argsort", x, axis)
    order = _order(x, place, descending)
    return from_rows(
        x.shape, place, lambda r, i, c: order[r, i, c].astype(dtype), f"{x.name}_argsort"
    )


@explained
def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Return the elements along a dimension in the order of their values; NaN comes last."""
    (place,) = positions("sort", x, axis)
    order, keys = _order(x, place, descending), as_rows(x, place)
    return from_rows(x.shape, place, lambda r, i, c: keys[r, order[r, i, c], c], f"{x.name}_sorted")


@explained
def topk(
    x: Tensor, k: int, axis: int = -1, largest: bool = True, dtype: str = "int64"
) -> tuple[Tensor, Tensor]:
    """Return the k largest elements along a dimension, or the smallest, and their places.

    Raises
    ------
    BoundsError
        The dimension is known to have fewer elements.
    """
    (place,) = positions("topk", x, axis)
    extent = x.shape[place]
    if k < 0 or (isinstance(extent, _core.IntImm) and k > int(extent)):
        _core.fail(
            "BoundsError",
            "there_are_so_many",
            f"topk: k is {k}, and dimension {place} of {x.name} has {extent} elements",
            hint="ask for at most as many",
        )
    order, keys = _order(x, place, largest), as_rows(x, place)
    shape = [*x.shape[:place], k, *x.shape[place + 1 :]]
    values = from_rows(shape, place, lambda r, i, c: keys[r, order[r, i, c], c], f"{x.name}_top")
    places = from_rows(
        shape, place, lambda r, i, c: order[r, i, c].astype(dtype), f"{x.name}_top_places"
    )
    return values, places


def _running(
    name: str, sign: str, x: Tensor, axis: int, dtype: str | None, exclusive: bool
) -> Tensor:
    (place,) = positions(name, x, axis)
    kind = dtype or x.dtype
    start = f'T.Cast("{kind}", {0 if sign == "+" else 1})'
    text = _RUNNING.format(
        given=x.dtype,
        dtype=kind,
        sign=sign,
        first=start if exclusive else f'T.Cast("{kind}", X[row, i, column])',
        at="i" if exclusive else "i + 1",
    )
    result = made_by(text, [as_rows(x, place)], f"{x.name}_running")
    return from_rows(x.shape, place, lambda r, i, c: result[r, i, c], f"{x.name}_{name}")


@explained
def cumsum(x: Tensor, axis: int = -1, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the sum of each element along a dimension and those before it.

    Parameters
    ----------
    axis
        Along which dimension.
    dtype
        In what it is summed; by default, in that of `x`.
    exclusive
        Leaves the element itself out: the first sum is 0.
    """
    return _running("cumsum", "+", x, axis, dtype, exclusive)


@explained
def cumprod(x: Tensor, axis: int = -1, dtype: str | None = None, exclusive: bool = False) -> Tensor:
    """Return the product of each element along a dimension and those before it; see `cumsum`."""
    return _running("cumprod", "*", x, axis, dtype, exclusive)
