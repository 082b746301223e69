# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopsmith import te

from ..tag import COMM_REDUCE
from .shapes import reshape

__all__ = ["all", "any", "argmax", "argmin", "matmul", "max", "mean", "min", "prod", "sum",
           "tensordot"]  # fmt: skip


def _reduced(name: str, reducer: Any, data: Any, axis: Any, keepdims: bool) -> Any:
    rank = len(data.shape)
    chosen = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted({i % rank for i in chosen})
    over = {i: te.reduce_axis((0, data.shape[i]), name=f"k{i}") for i in axes}
    kept = [i for i in range(rank) if i not in over]
    shape = [1 if i in over else data.shape[i] for i in range(rank)]
    if not keepdims:
        shape = [data.shape[i] for i in kept]

    def element(*indices: Any) -> Any:
        rest = dict(zip(range(rank) if keepdims else kept, indices))
        place = [over[i] if i in over else rest[i] for i in range(rank)]
        return reducer(data(*place), axis=list(over.values()))

    return te.compute(shape, element, name=f"{data.name}_{name}", tag=COMM_REDUCE)


def _reduction(name: str, reducer: Any) -> Callable[..., Any]:
    def apply(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return _reduced(name, reducer, data, axis, keepdims)

    apply.__name__ = name
    apply.__doc__ = f"Return the {name} over axes; over all of them, a tensor of one element."
    return apply


sum = _reduction("sum", te.sum)
max = _reduction("max", te.max)
min = _reduction("min", te.min)
prod = _reduction("prod", te.prod)
all = _reduction("all", te.comm_reducer(te.all, lambda t: te.const(True, t), "all"))
any = _reduction("any", te.comm_reducer(te.any, lambda t: te.const(False, t), "any"))


def _place(name: str, first: Callable[..., Any]) -> Callable[..., Any]:
    def apply(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
        rank = len(data.shape)
        over = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        if len(over) != 1:
            raise ValueError(f"{name}: {len(over)} axes are given: name one, or none for all")
        if over[0] is None:
            found, at = first(reshape(data, [-1]), 0), -1
            shape = [1] * rank
        else:
            at = over[0] % rank
            found = first(data, at)
            shape = [1 if i == at else extent for i, extent in enumerate(data.shape)]

        def element(*i: Any) -> Any:
            rest = [] if at < 0 else (*i[:at], *i[at + 1 :]) if keepdims else i
            return found(*rest).astype("int32")

        return te.compute(shape if keepdims else found.shape, element, name=f"{data.name}_{name}")

    apply.__name__ = name
    apply.__doc__ = (
        f"Return the {name} along an axis, or of all elements in a row, the first of equal ones."
    )
    return apply


argmax = _place("argmax", te.nn.argmax)
argmin = _place("argmin", te.nn.argmin)


def mean(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the mean over axes."""
    total = sum(data, axis, keepdims)
    rank = len(data.shape)
    chosen = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    count: Any = 1
    for i in {i % rank for i in chosen}:
        count = count * data.shape[i]
    return te.compute(total.shape, lambda *i: total(*i) / te.const(count).astype(data.dtype))


def matmul(a: Any, b: Any, transp_a: bool = False, transp_b: bool = False) -> Any:
    """Return the product of two matrices, either of them transposed if asked for."""
    rows, inner = (a.shape[1], a.shape[0]) if transp_a else (a.shape[0], a.shape[1])
    columns = b.shape[0] if transp_b else b.shape[1]
    k = te.reduce_axis((0, inner), name="k")

    def element(i: Any, j: Any) -> Any:
        left = a[k, i] if transp_a else a[i, k]
        right = b[j, k] if transp_b else b[k, j]
        return te.sum(left * right, axis=k)

    return te.compute((rows, columns), element, name="T_matmul")


def tensordot(a: Any, b: Any, axes: int = 2) -> Any:
    """Return the sums of products over the last axes of one tensor and the first of the other."""
    kept, rest = list(a.shape[: len(a.shape) - axes]), list(b.shape[axes:])
    over = [te.reduce_axis((0, extent), name=f"k{i}") for i, extent in enumerate(b.shape[:axes])]

    def element(*i: Any) -> Any:
        return te.sum(a(*i[: len(kept)], *over) * b(*over, *i[len(kept) :]), axis=over)

    return te.compute([*kept, *rest], element, name="T_tensordot")
