# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

from ..tag import INJECTIVE

__all__ = [
    "concatenate",
    "expand_dims",
    "flip",
    "get_const_int",
    "get_const_tuple",
    "reshape",
    "squeeze",
    "transpose",
]


def get_const_int(expr: Any) -> int:
    """Return the value of a constant; raise a ValueError where it is none."""
    if isinstance(expr, tir.Expr) and not isinstance(expr, tir.IntImm):
        raise ValueError(f"Expect value to be constant int, not {expr!r}")
    return int(expr)


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of constants; what is none stays an expression."""
    is_open = [isinstance(e, tir.Expr) and not isinstance(e, tir.IntImm) for e in in_tuple]
    return tuple(each if is_var else int(each) for each, is_var in zip(in_tuple, is_open))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Return a tensor with its axes in another order; reversed by default."""
    rank = len(a.shape)
    order = list(reversed(range(rank))) if axes is None else [i % rank for i in axes]

    def element(*indices: Any) -> Any:
        place: list[Any] = [None] * rank
        for i, axis in zip(indices, order):
            place[axis] = i
        return a(*place)

    return te.compute([a.shape[i] for i in order], element, name="T_transpose", tag=INJECTIVE)


def reshape(a: Any, newshape: Sequence[Any]) -> Any:
    """Return the elements, row by row, in another shape; an extent of -1 is what is left."""
    total: Any = 1
    for extent in a.shape:
        total = total * extent
    known: Any = 1
    for extent in newshape:
        known = known if isinstance(extent, int) and extent == -1 else known * extent
    shape = [total // known if isinstance(e, int) and e == -1 else e for e in newshape]

    def element(*indices: Any) -> Any:
        flat: Any = 0
        for i, extent in zip(indices, shape):
            flat = flat * extent + i
        place: list[Any] = []
        for extent in reversed(a.shape):
            place.insert(0, flat % extent)
            flat = flat // extent
        return a(*place)

    return te.compute(shape, element, name="T_reshape", tag=INJECTIVE)


def expand_dims(a: Any, axis: int, num_newaxis: int = 1) -> Any:
    """Return a tensor with more axes, of extent 1."""
    at = axis % (len(a.shape) + 1)
    shape = [*a.shape[:at], *([1] * num_newaxis), *a.shape[at:]]
    return te.compute(
        shape, lambda *i: a(*i[:at], *i[at + num_newaxis :]), name="T_expand_dims", tag=INJECTIVE
    )


def squeeze(a: Any, axis: Any = None) -> Any:
    """Return a tensor without axes of extent 1."""
    rank = len(a.shape)
    if axis is None:
        gone = {
            i for i in range(rank) if isinstance(a.shape[i], tir.IntImm) and int(a.shape[i]) == 1
        }
    else:
        gone = {i % rank for i in ([axis] if isinstance(axis, int) else axis)}
    kept = [i for i in range(rank) if i not in gone]

    def element(*indices: Any) -> Any:
        rest = dict(zip(kept, indices))
        return a(*(rest.get(i, 0) for i in range(rank)))

    shape = [a.shape[i] for i in kept]
    return te.compute(shape, element, name="T_squeeze", tag=INJECTIVE)


def flip(a: Any, axis: int = 0) -> Any:
    """Return a tensor with one axis counted from its end."""
    at = axis % len(a.shape)
    return te.compute(
        a.shape,
        lambda *i: a(*i[:at], a.shape[at] - i[at] - 1, *i[at + 1 :]),
        name="T_flip",
        tag=INJECTIVE,
    )


def concatenate(a_tuple: Sequence[Any], axis: int = 0) -> Any:
    """Return tensors one after the other along an axis."""
    first = a_tuple[0]
    at = axis % len(first.shape)
    shape = list(first.shape)
    shape[at] = sum((each.shape[at] for each in a_tuple[1:]), first.shape[at])

    def element(*indices: Any) -> Any:
        begin: Any = 0
        pieces = []
        for each in a_tuple:
            place = (*indices[:at], indices[at] - begin, *indices[at + 1 :])
            pieces.append((begin, each(*place)))
            begin = begin + each.shape[at]
        value = pieces[0][1]
        for begin, piece in pieces[1:]:
            value = te.if_then_else(indices[at] >= begin, piece, value)
        return value

    return te.compute(shape, element, name="T_concat", tag=INJECTIVE)
