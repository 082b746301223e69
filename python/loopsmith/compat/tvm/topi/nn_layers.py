# SPDX-License-Identifier: Apache-2.0
"""Normalization and other layers of neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

from ..tag import BROADCAST, INJECTIVE
from .reductions import mean

__all__ = ["batch_matmul", "batch_norm", "dilate", "flatten", "layer_norm", "log_softmax", "prelu",
           "rms_norm", "upsampling", "upsampling3d"]  # fmt: skip


def flatten(data: Any) -> Any:
    """Return all dimensions but the first as one."""
    from .shapes import reshape

    return reshape(data, [data.shape[0], -1])


def prelu(x: Any, slope: Any, axis: int = 1) -> Any:
    """Return each element that is positive, others times a number of their channel."""

    def element(*i: Any) -> Any:
        value = x(*i)
        return te.select(value > 0, value, value * slope(i[axis]))

    return te.compute(x.shape, element, name="T_prelu", tag=BROADCAST)


def batch_matmul(
    tensor_a: Any,
    tensor_b: Any,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Any:
    """Return the products of matrices; the second ones are transposed unless said otherwise."""
    dtype = out_dtype or tensor_a.dtype
    batch, rows, inner = tensor_a.shape
    if transpose_a:
        rows, inner = inner, rows
    columns = tensor_b.shape[1] if transpose_b else tensor_b.shape[2]
    k = te.reduce_axis((0, inner), name="k")

    def element(b: Any, i: Any, j: Any) -> Any:
        left = tensor_a[b, k, i] if transpose_a else tensor_a[b, i, k]
        # One matrix may stand for all.
        which = 0 if _is_one(tensor_b.shape[0]) else b
        right = tensor_b[which, j, k] if transpose_b else tensor_b[which, k, j]
        return te.sum(left.astype(dtype) * right.astype(dtype), axis=k)

    return te.compute((batch, rows, columns), element, name="T_batch_matmul", tag="batch_matmul")


def _is_one(extent: Any) -> bool:
    return isinstance(extent, (int, tir.IntImm)) and int(extent) == 1


def log_softmax(x: Any, axis: int = -1) -> Any:
    """Return the logarithms of what `softmax` gives, computed without overflow."""
    at = axis % len(x.shape)
    rest = [*x.shape[:at], *x.shape[at + 1 :]]
    k1 = te.reduce_axis((0, x.shape[at]), name="k")
    k2 = te.reduce_axis((0, x.shape[at]), name="k")
    largest = te.compute(
        rest, lambda *i: te.max(x(*i[:at], k1, *i[at:]), axis=k1), name="T_maxelem"
    )

    def power(*i: Any) -> Any:
        return te.exp(x(*i[:at], k2, *i[at:]) - largest(*i))

    total = te.compute(rest, lambda *i: te.sum(power(*i), axis=k2), name="T_expsum")

    def element(*i: Any) -> Any:
        others = (*i[:at], *i[at + 1 :])
        return x(*i) - largest(*others) - te.log(total(*others))

    return te.compute(x.shape, element, name="T_log_softmax", tag="log_softmax_output")


def dilate(
    data: Any, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput"
) -> Any:
    """Return a tensor with ``stride - 1`` elements of one value between its own."""
    shape = [(extent - 1) * step + 1 for extent, step in zip(data.shape, strides)]
    value = te.const(dilation_value, data.dtype)

    def element(*indices: Any) -> Any:
        own = [i % step == 0 for i, step in zip(indices, strides) if step != 1]
        place = [i // step for i, step in zip(indices, strides)]
        return te.if_then_else(te.all(*own), data(*place), value) if own else data(*indices)

    return te.compute(shape, element, name=name, tag=INJECTIVE)


def upsampling(
    data: Any, scale_h: float, scale_w: float, layout: str = "NCHW",
    method: str = "nearest_neighbor", align_corners: bool = False, output_shape: Any = None,
) -> Any:  # fmt: skip
    """Return images so many times as large, in layout NCHW, NHWC or NCHW with blocks."""
    mode = "align_corners" if align_corners else "asymmetric"
    return _larger(data, (scale_h, scale_w), layout, "HW", method, mode, output_shape)


def upsampling3d(
    data: Any, scale_d: float, scale_h: float, scale_w: float, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Any:  # fmt: skip
    """Return volumes so many times as large."""
    scales = (scale_d, scale_h, scale_w)
    return _larger(
        data, scales, layout, "DHW", method, coordinate_transformation_mode, output_shape
    )


def _larger(
    data: Any, scales: Sequence[Any], layout: str, letters: str, method: str, mode: str, shape: Any
) -> Any:
    from .image import resize2d, resize3d
    from .nn_pools import windows_of

    def extent(axis: int, scale: Any) -> Any:
        if shape:
            return shape[axis]
        old, times = data.shape[axis], float(scale)
        return old * int(times) if times.is_integer() else round(int(old) * times)

    axes = windows_of("upsampling", layout, letters)
    size = [extent(axis, scale) for axis, scale in zip(axes, scales)]
    resize = resize2d if len(letters) == 2 else resize3d
    return resize(data, [0.0] * (2 * len(letters)), size, layout, method, mode)


def batch_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    training: bool = False,
    momentum: float = 0.1,
) -> list[Any]:
    """Return each channel by a mean and a variance, scaled and shifted; and these two.

    They are the moving ones; in training those of the data, which the moving ones that are returned
    have become a little, by `momentum`.
    """
    tiny = te.const(epsilon, data.dtype)
    centre, spread = moving_mean, moving_var
    if training:
        others = [each for each in range(len(data.shape)) if each != axis % len(data.shape)]
        centre = mean(data, others)
        squares = te.compute(
            data.shape, lambda *i: (data(*i) - centre(i[axis])) * (data(*i) - centre(i[axis])),
            name="T_values",
        )  # fmt: skip
        spread = mean(squares, others)

    def element(*i: Any) -> Any:
        c = i[axis]
        value = (data(*i) - centre(c)) / te.sqrt(spread(c) + tiny)
        value = value * gamma(c) if scale else value
        return value + beta(c) if center else value

    def moved(old: Any, new: Any) -> Any:
        share = te.const(momentum, data.dtype)
        return te.compute(
            old.shape, lambda c: old(c) * (1 - share) + new(c) * share if training else old(c),
            name="T_moving",
        )  # fmt: skip

    return [
        te.compute(data.shape, element, name="T_batch_norm", tag=BROADCAST),
        moved(moving_mean, centre),
        moved(moving_var, spread),
    ]


def _statistics(data: Any, axis: Sequence[int], value: Any) -> Any:
    """Return the mean over axes of what `value` gives of an element, with axes of extent 1."""
    squares = te.compute(data.shape, lambda *i: value(data(*i)), name="T_values")
    return mean(squares, list(axis), keepdims=True)


def layer_norm(data: Any, gamma: Any, beta: Any, axis: Sequence[int], epsilon: float = 1e-5) -> Any:
    """Return elements with mean 0 and variance 1 over axes, scaled and shifted."""
    over = [each % len(data.shape) for each in axis]
    average = _statistics(data, over, lambda x: x)
    tiny = te.const(epsilon, data.dtype)

    def at(i: Sequence[Any]) -> list[Any]:
        return [0 if place in over else index for place, index in enumerate(i)]

    apart = te.compute(data.shape, lambda *i: data(*i) - average(*at(i)), name="T_apart")
    variance = _statistics(apart, over, lambda x: x * x)

    def element(*i: Any) -> Any:
        own = [i[place] for place in over]
        value = apart(*i) * te.rsqrt(variance(*at(i)) + tiny) * gamma(*own)
        return value if beta is None else value + beta(*own)

    return te.compute(data.shape, element, name="T_layer_norm", tag=INJECTIVE)


def rms_norm(data: Any, weight: Any, axis: Sequence[int], epsilon: float = 1e-5) -> Any:
    """Return elements divided by their root mean square over axes, scaled."""
    over = [each % len(data.shape) for each in axis]
    power = _statistics(data, over, lambda x: x * x)
    tiny = te.const(epsilon, data.dtype)

    def element(*i: Any) -> Any:
        at = [0 if place in over else index for place, index in enumerate(i)]
        own = [i[place] for place in over]
        return data(*i) * te.rsqrt(power(*at) + tiny) * weight(*own)

    return te.compute(data.shape, element, name="T_rms_norm", tag=INJECTIVE)
