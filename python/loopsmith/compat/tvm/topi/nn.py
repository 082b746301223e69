# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.nn``: operators of neural networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopsmith import te, tir

from ...missing import other_names
from ..tag import BROADCAST, ELEMWISE, INJECTIVE
from .nn_blocks import *
from .nn_blocks import __all__ as _blocks
from .nn_convolutions import *
from .nn_convolutions import __all__ as _convolutions
from .nn_layers import *
from .nn_layers import __all__ as _layers
from .nn_pool_grads import *
from .nn_pool_grads import __all__ as _pool_grads
from .nn_pools import *
from .nn_pools import __all__ as _pools
from .nn_recurrent import *
from .nn_recurrent import __all__ as _recurrent

__all__ = ["bias_add", "dense", "leaky_relu", "pad", "relu", "scale_shift_nchw",
           "scale_shift_nchwc", "scale_shift_nhwc", "softmax", "softplus", *_blocks,
           *_convolutions, *_layers, *_pool_grads, *_pools, *_recurrent]  # fmt: skip


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


def _scale_shift(data: Any, scale: Any, shift: Any, channel: Callable[..., Any]) -> Any:
    def element(*i: Any) -> Any:
        at = channel(*i)
        return data(*i) * scale(*at) + shift(*at)

    return te.compute(data.shape, element, name="ScaleShift", tag=BROADCAST)


def scale_shift_nchw(data: Any, scale: Any, shift: Any) -> Any:
    """Return each channel of ``data[n, c, h, w]`` times a number, plus another one."""
    return _scale_shift(data, scale, shift, lambda n, c, h, w: (c,))


def scale_shift_nhwc(data: Any, scale: Any, shift: Any) -> Any:
    """Return each channel of ``data[n, h, w, c]`` times a number, plus another one."""
    return _scale_shift(data, scale, shift, lambda n, h, w, c: (c,))


def scale_shift_nchwc(data: Any, scale: Any, shift: Any) -> Any:
    """Return each channel of ``data[n, C, h, w, c]`` times a number, plus another one."""
    return _scale_shift(data, scale, shift, lambda n, chunk, h, w, c: (chunk, c))


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Return ``log(1 + exp(beta * x)) / beta`` of each element; large ones as they are."""
    slope, limit = te.const(beta, x.dtype), te.const(threshold, x.dtype)

    def element(*i: Any) -> Any:
        value = x(*i) * slope
        return te.if_then_else(value > limit, x(*i), te.log1p(te.exp(value)) / slope)

    return te.compute(x.shape, element, name="T_softplus", tag=ELEMWISE)


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


__getattr__ = other_names("tvm.topi.nn")
