# SPDX-License-Identifier: Apache-2.0
"""Derivatives of largest elements and means of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

from .nn_pools import elements_of_window, windows_of

__all__ = ["pool_grad"]


def _larger(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the pair of a place and a value that is larger, of equal ones that of the first."""
    is_first = tir.any(a[1] > b[1], tir.all(a[1] == b[1], a[0] < b[0]))
    return tir.Select(is_first, a[0], b[0]), tir.Select(is_first, a[1], b[1])


_last_place = 2**31 - 1
_largest = te.comm_reducer(
    _larger, lambda i, x: (te.const(_last_place, i), te.min_value(x)), name="largest"
)


def pool_grad(
    grads: Any,
    data: Any,
    kernel: Sequence[Any],
    stride: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Any:
    """Return the derivative of what depends on `pool2d` of images, by the images.

    Parameters
    ----------
    grads
        The derivative by the results of the windows.
    data
        The images.
    kernel, stride, padding, pool_type, ceil_mode, count_include_pad, layout
        As in `pool2d`. Of equal largest elements, the derivative is that of the first.

    Raises
    ------
    ValueError
        `pool_type` is neither ``"max"`` nor ``"avg"``; the layout lacks H or W.
    """
    if pool_type not in ("max", "avg"):
        raise ValueError(f"pool_grad: pool_type is {pool_type!r}, not 'max' or 'avg'")
    axes = windows_of("pool_grad", layout, "HW")
    before = list(padding[:2])
    sizes = [data.shape[axis] for axis in axes]

    def replaced(i: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        place = list(i)
        for axis, value in zip(axes, values):
            place[axis] = value
        return place

    def number(place: Sequence[Any]) -> Any:
        """Return the place of an element in its image, counted along rows."""
        return place[0] * sizes[1] + place[1]

    first_largest: Any = None
    if pool_type == "max":
        over = [te.reduce_axis((0, size), name=f"w{n}") for n, size in enumerate(kernel)]

        def candidate(*i: Any) -> Any:
            at = [
                i[axis] * step + k - low for axis, step, k, low in zip(axes, stride, over, before)
            ]
            inside = te.all(*(te.all(a >= 0, a < size) for a, size in zip(at, sizes)))
            value = te.if_then_else(inside, data(*replaced(i, at)), te.min_value(data.dtype))
            place = te.if_then_else(inside, number(at), te.const(_last_place, "int32"))
            return _largest((place, value), axis=over)

        first_largest = te.compute(grads.shape, candidate, name="maxpool_grad_argmax")[0]

    # The windows that an element is in: `back` counts them from the last one.
    back = [
        te.reduce_axis((0, (size + step - 1) // step), name=f"wh{n}")
        for n, (size, step) in enumerate(zip(kernel, stride))
    ]

    def element(*i: Any) -> Any:
        padded = [i[axis] + low for axis, low in zip(axes, before)]
        window = [te.floordiv(p, step) - k for p, step, k in zip(padded, stride, back)]
        at = replaced(i, window)
        inside = te.all(*(
            te.all(w >= 0, w < grads.shape[axis], p < w * step + size)
            for w, axis, p, step, size in zip(window, axes, padded, stride, kernel)
        ))  # fmt: skip
        zero = te.const(0, grads.dtype)
        if pool_type == "max":
            own = [i[axis] for axis in axes]
            value = tir.Select(first_largest(*at) == number(own), grads(*at), zero)
        else:
            count = elements_of_window(data, at, kernel, stride, (1, 1), before, axes)
            whole = te.const(1, "int32")
            for size in kernel:
                whole = whole * size
            divisor = whole if count_include_pad else count
            value = grads(*at) / divisor.astype(grads.dtype)
        return te.sum(te.if_then_else(inside, value, zero), axis=back)

    return te.compute(data.shape, element, name="T_pool_grad", tag="pool_grad")
