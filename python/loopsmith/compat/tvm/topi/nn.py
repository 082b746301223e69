# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.nn``: operators of neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

from ...missing import other_names
from ..tag import BROADCAST, ELEMWISE, INJECTIVE

__all__ = ["bias_add", "conv2d_nchw", "dense", "leaky_relu", "pad", "relu", "scale_shift_nchw",
           "softmax"]  # fmt: skip


def relu(x: Any) -> Any:
    """Return each element that is positive, else 0."""
    zero = te.const(0, x.dtype)
    return te.compute(x.shape, lambda *i: tir.max(x(*i), zero), name="T_relu", tag=ELEMWISE)


def leaky_relu(x: Any, alpha: float) -> Any:
    """Return each element that is positive, others times `alpha`."""

    def element(*i: Any) -> Any:
        value = x(*i)
        return te.select(value > 0, value, value * te.const(alpha, x.dtype))

    return te.compute(x.shape, element, name="T_leaky_relu", tag=ELEMWISE)


def bias_add(x: Any, bias: Any, axis: int = 1) -> Any:
    """Return a tensor with a vector added along one axis."""
    at = axis % len(x.shape)
    return te.compute(x.shape, lambda *i: x(*i) + bias(i[at]), name="T_bias_add", tag=BROADCAST)


def scale_shift_nchw(data: Any, scale: Any, shift: Any) -> Any:
    """Return each channel of ``data[n, c, h, w]`` times a number, plus another one."""
    return te.compute(
        data.shape,
        lambda n, c, h, w: data[n, c, h, w] * scale[c] + shift[c],
        name="ScaleShift",
        tag=BROADCAST,
    )


def dense(data: Any, weight: Any, bias: Any = None, out_dtype: str | None = None, **_: None) -> Any:
    """Return ``data[i, k] * weight[j, k]`` summed over k, plus a bias."""
    dtype = out_dtype or data.dtype
    k = te.reduce_axis((0, data.shape[1]), name="k")
    product = te.compute(
        (data.shape[0], weight.shape[0]),
        lambda i, j: te.sum(data[i, k].astype(dtype) * weight[j, k].astype(dtype), axis=k),
        name="T_dense",
        tag="dense",
    )
    if bias is None:
        return product
    return te.compute(
        product.shape, lambda i, j: product[i, j] + bias[j].astype(dtype), tag=BROADCAST
    )


def softmax(x: Any, axis: int = -1) -> Any:
    """Return the exponentials of elements, over their sum along an axis."""
    at = axis % len(x.shape)
    rest = [*x.shape[:at], *x.shape[at + 1 :]]
    k1 = te.reduce_axis((0, x.shape[at]), name="k")
    k2 = te.reduce_axis((0, x.shape[at]), name="k")
    largest = te.compute(
        rest, lambda *i: te.max(x(*i[:at], k1, *i[at:]), axis=k1), name="T_softmax_maxelem"
    )
    exponential = te.compute(
        x.shape,
        lambda *i: te.exp(x(*i) - largest(*i[:at], *i[at + 1 :])),
        name="T_softmax_exp",
    )
    total = te.compute(
        rest,
        lambda *i: te.sum(exponential(*i[:at], k2, *i[at:]), axis=k2),
        name="T_softmax_expsum",
    )
    return te.compute(
        x.shape,
        lambda *i: exponential(*i) / total(*i[:at], *i[at + 1 :]),
        name="T_softmax_norm",
        attrs={"axis": at},
        tag="softmax_output",
    )


def pad(
    data: Any,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
) -> Any:
    """Return a tensor with a border of one value."""
    after = pad_before if pad_after is None else pad_after
    shape = [low + extent + high for low, extent, high in zip(pad_before, data.shape, after)]
    value = te.const(pad_value, data.dtype)

    def element(*indices: Any) -> Any:
        inside: list[Any] = []
        place = []
        for i, low, high, extent in zip(indices, pad_before, after, data.shape):
            place.append(i - low)
            if not (isinstance(low, int) and low == 0):
                inside.append(i >= low)
            if not (isinstance(high, int) and high == 0):
                inside.append(i < extent + low)
        if not inside:
            return data(*indices)
        return te.if_then_else(te.all(*inside), data(*place), value)

    return te.compute(shape, element, name=name, tag=f"{INJECTIVE},pad")


def conv2d_nchw(
    Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Return the convolution of ``Input[n, c, h, w]`` with ``Filter[k, c, h, w]``."""
    stride_h, stride_w = (stride, stride) if isinstance(stride, int) else stride
    dilation_h, dilation_w = (dilation, dilation) if isinstance(dilation, int) else dilation
    sides = [padding] * 4 if isinstance(padding, int) else list(padding)
    top, left, bottom, right = sides * 2 if len(sides) == 2 else sides
    dtype = out_dtype or Input.dtype
    batch, channels, height, width = Input.shape
    filters, _, kernel_h, kernel_w = Filter.shape
    padded = pad(Input, [0, 0, top, left], [0, 0, bottom, right], name="pad_temp")
    rows = (height - (kernel_h - 1) * dilation_h - 1 + top + bottom) // stride_h + 1
    columns = (width - (kernel_w - 1) * dilation_w - 1 + left + right) // stride_w + 1
    rc = te.reduce_axis((0, channels), name="rc")
    ry = te.reduce_axis((0, kernel_h), name="ry")
    rx = te.reduce_axis((0, kernel_w), name="rx")
    return te.compute(
        (batch, filters, rows, columns),
        lambda n, f, y, x: te.sum(
            padded[n, rc, y * stride_h + ry * dilation_h, x * stride_w + rx * dilation_w].astype(
                dtype
            )
            * Filter[f, rc, ry, rx].astype(dtype),
            axis=[rc, ry, rx],
        ),
        name="conv2d_nchw",
        tag="conv2d_nchw",
    )


__getattr__ = other_names("tvm.topi.nn")
