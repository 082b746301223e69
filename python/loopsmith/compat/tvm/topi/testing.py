# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.testing``: operators on arrays of NumPy, to compare with, and schedules by target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...missing import other_names
from ..target import Target
from .schedules import scheduled
from .testing_images import *
from .testing_images import __all__ as _images
from .testing_layers import *
from .testing_layers import __all__ as _layers

_REFERENCES = (
    "batch_matmul batch_norm depth_to_space_python gather_nd_python gather_python "
    "group_norm_python instance_norm_python l2_normalize_python layer_norm_python "
    "log_softmax_python lrn_python matrix_set_diag one_hot scale_shift_nchw_python sequence_mask "
    "softmax_python space_to_depth_python strided_set_python strided_slice_python"
)
_SCHEDULES = [f"get_{kind}_schedule" for kind in ("broadcast", "elemwise", "injective", "reduce")]
__all__ = ["dispatch", *_REFERENCES.split(), *_SCHEDULES, *_images, *_layers]


def _schedule_of(_: Any) -> Callable[..., Any]:
    return scheduled


get_broadcast_schedule = get_elemwise_schedule = _schedule_of
get_injective_schedule = get_reduce_schedule = _schedule_of


def dispatch(target: Any, dispatch_map: Mapping[str, Any]) -> Any:
    """Return what a map has for a target: by its kind, one of its keys, or ``generic``."""
    known = target if isinstance(target, Target) else Target(target)
    for name in (str(known.kind), *known.keys, "generic"):
        if name in dispatch_map:
            return dispatch_map[name]
    raise KeyError(f"dispatch: there is nothing for {known}, and nothing generic")


def softmax_python(data: Any, axis: int = -1) -> Any:
    """Return exponentials that sum up to 1 along an axis."""
    powers = np.exp(data - data.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(data: Any, axis: int = -1) -> Any:
    """Return the logarithms of `softmax_python`."""
    less = data - data.max(axis=axis, keepdims=True)
    return less - np.log(np.exp(less).sum(axis=axis, keepdims=True))


def lrn_python(a: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> Any:
    """Return elements over a power of the mean square of their neighbours along an axis."""
    squares = np.moveaxis(a * a, axis, 0)
    half = size // 2
    sums = [squares[max(i - half, 0) : i + half + 1].sum(axis=0) for i in range(len(squares))]
    return a / (bias + alpha / size * np.moveaxis(np.array(sums), 0, axis)) ** beta


def l2_normalize_python(a: Any, eps: float, axis: Any = None) -> Any:
    """Return elements over the root of the sum of squares along axes, or of `eps`."""
    over = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    return a / np.sqrt(np.maximum((a * a).sum(axis=over, keepdims=True), eps))


def scale_shift_nchw_python(data: Any, scale: Any, shift: Any) -> Any:
    """Return each channel times a number, plus another one."""
    return data * scale[:, None, None] + shift[:, None, None]


def batch_matmul(x: Any, y: Any, out_dtype: str | None = None, trans_x: bool = False,
                 trans_y: bool = True) -> Any:  # fmt: skip
    """Return products of matrices, the second of each pair transposed."""
    left = x.transpose(0, 2, 1) if trans_x else x
    right = y.transpose(0, 2, 1) if trans_y else y
    return np.matmul(left, right).astype(out_dtype or x.dtype)


def batch_norm(
    x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int, epsilon: float,
    center: bool, scale: bool, training: bool, momentum: float,
) -> list[Any]:  # fmt: skip
    """Return the normalized values, and the mean and the variance that move along."""
    over = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    mean, variance = (x.mean(over), x.var(over)) if training else (moving_mean, moving_var)
    out = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    out = out * gamma.reshape(shape) if scale else out
    out = out + beta.reshape(shape) if center else out
    if not training:
        return [out, moving_mean, moving_var]
    moved = [
        (1 - momentum) * old + momentum * new
        for old, new in ((moving_mean, mean), (moving_var, variance))
    ]
    return [out, *moved]


def _normalized(data: Any, gamma: Any, beta: Any, over: Any, epsilon: float, shape: Any) -> Any:
    mean, variance = data.mean(over, keepdims=True), data.var(over, keepdims=True)
    out = (data - mean) / np.sqrt(variance + epsilon)
    out = out if gamma is None else out * gamma.reshape(shape)
    return out if beta is None else out + beta.reshape(shape)


def layer_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Return values with mean 0 and variance 1 along axes, times `gamma`, plus `beta`."""
    over = tuple(i % data.ndim for i in ([axis] if isinstance(axis, int) else axis))
    shape = [n if i in over else 1 for i, n in enumerate(data.shape)]
    return _normalized(data, gamma, beta, over, epsilon, shape)


def instance_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Return the same for each image and channel."""
    over = tuple(i % data.ndim for i in ([axis] if isinstance(axis, int) else axis))
    shape = [n if i == 1 else 1 for i, n in enumerate(data.shape)]
    return _normalized(data, gamma, beta, over, epsilon, shape)


def group_norm_python(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """Return the same for each group of channels."""
    n, channels = data.shape[channel_axis], data.shape
    grouped = data.reshape(
        *channels[:channel_axis], num_groups, n // num_groups, *channels[channel_axis + 1 :]
    )
    over = (channel_axis + 1, *(i + 1 if i > channel_axis else i for i in axes))
    shape = [k if i == channel_axis else 1 for i, k in enumerate(data.shape)]
    mean, variance = grouped.mean(over, keepdims=True), grouped.var(over, keepdims=True)
    out = ((grouped - mean) / np.sqrt(variance + epsilon)).reshape(data.shape)
    out = out if gamma is None else out * gamma.reshape(shape)
    return out if beta is None else out + beta.reshape(shape)


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Any:
    """Return `on_value` where a new axis has the value of an index, `off_value` elsewhere."""
    place = indices.ndim if axis == -1 else axis
    shape = [depth if i == place else 1 for i in range(indices.ndim + 1)]
    hot = np.expand_dims(indices, place) == np.arange(depth).reshape(shape)
    return np.where(hot, on_value, off_value).astype(dtype)


def gather_python(data: Any, axis: int, indices: Any) -> Any:
    """Return elements whose place along one axis is told by indices."""
    kept = tuple(slice(0, n) for n in indices.shape)
    shortened = tuple(slice(None) if i == axis % data.ndim else part for i, part in enumerate(kept))
    return np.take_along_axis(data[shortened], indices.astype("int64"), axis)


def gather_nd_python(a: Any, indices: Any) -> Any:
    """Return parts of an array whose places the columns of `indices` tell."""
    return a[tuple(indices.astype("int64"))]


def strided_slice_python(
    data: Any, begin: Any, end: Any, strides: Any, slice_mode: str = "end", axes: Any = None
) -> Any:
    """Return a slice; with the mode ``size``, `end` tells how many elements."""
    which = range(len(begin)) if axes is None else axes
    parts = [slice(None)] * data.ndim
    for i, axis in enumerate(which):
        step = (strides[i] if i < len(strides) else 1) if strides else 1
        if slice_mode == "size":
            stop = None if end[i] < 0 else begin[i] + end[i]
            step = 1
        else:
            stop = end[i] if i < len(end) else None
        parts[axis] = slice(begin[i], stop, step)
    return data[tuple(parts)]


def strided_set_python(data: Any, v: Any, begin: Any, end: Any, strides: Any) -> Any:
    """Return an array with a slice replaced."""
    out = data.copy()
    steps = [*(strides or []), *([1] * (len(begin) - len(strides or [])))]
    out[tuple(slice(b, e, s) for b, e, s in zip(begin, end, steps))] = v
    return out


def matrix_set_diag(input_np: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Return matrices with another diagonal."""
    if not isinstance(k, int):
        raise ValueError("matrix_set_diag: one diagonal is set here, k is a number")
    out = input_np.copy()
    count = diagonal.shape[-1]
    rows = np.arange(count) + max(-k, 0)
    out[..., rows, rows + k] = diagonal
    return out


def sequence_mask(data: Any, valid_length: Any, mask_value: float, axis: int) -> Any:
    """Return sequences of which the rest, from their lengths on, is `mask_value`."""
    steps = np.arange(data.shape[axis])
    inside = steps[:, None] < valid_length[None] if axis == 0 else steps < valid_length[:, None]
    return np.where(inside.reshape(*inside.shape, *[1] * (data.ndim - 2)), data, mask_value)


def space_to_depth_python(data: Any, block_size: int) -> Any:
    """Return images whose blocks are channels."""
    n, c, h, w = data.shape
    b = block_size
    parts = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * b * b, h // b, w // b)


def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> Any:
    """Return images whose channels are blocks."""
    n, c, h, w = data.shape
    b = block_size
    if mode == "DCR":
        parts = data.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // (b * b), h * b, w * b)


__getattr__ = other_names("tvm.topi.testing")
