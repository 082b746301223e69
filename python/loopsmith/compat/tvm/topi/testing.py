# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.testing``: operators on arrays of NumPy, to compare with, and schedules by target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...missing import other_names
from ..target import Target
from .schedules import scheduled

_REFERENCES = (
    "adaptive_pool batch_matmul batch_norm conv1d_ncw_python conv2d_hwcn_python conv2d_nchw_python "
    "conv2d_nhwc_python conv2d_transpose_nchw_python depth_to_space_python "
    "depthwise_conv2d_python_nchw depthwise_conv2d_python_nhwc dilate_python gather_nd_python "
    "gather_python group_norm_python instance_norm_python l2_normalize_python layer_norm_python "
    "log_softmax_python lrn_python matrix_set_diag one_hot poolnd_python scale_shift_nchw_python "
    "sequence_mask softmax_python space_to_depth_python strided_set_python strided_slice_python "
    "upsampling_python"
)
_SCHEDULES = [f"get_{kind}_schedule" for kind in ("broadcast", "elemwise", "injective", "reduce")]
__all__ = ["dispatch", *_REFERENCES.split(), *_SCHEDULES]


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


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _around(padding: Any, kernel: Sequence[int], stride: Sequence[int], size: Sequence[int]) -> Any:
    """Return how many rows or columns there are before and after, for each direction."""
    if padding == "VALID":
        return [(0, 0)] * len(kernel)
    if padding == "SAME":
        missing = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(size, kernel, stride)]
        return [(both // 2, both - both // 2) for both in missing]
    if isinstance(padding, int):
        return [(padding, padding)] * len(kernel)
    if len(padding) == 2 * len(kernel):
        return list(zip(padding[: len(kernel)], padding[len(kernel) :]))
    return [(each, each) for each in padding]


def conv2d_nchw_python(a: Any, w: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """Return the convolution of ``a[n, c, h, w]`` with ``w[o, c, kh, kw]``."""
    steps = _pair(stride)
    around = _around(padding, w.shape[2:], steps, a.shape[2:])
    data = np.pad(a, [(0, 0), (0, 0), *around]).reshape(
        a.shape[0], groups, a.shape[1] // groups, *(n + sum(p) for n, p in zip(a.shape[2:], around))
    )
    weight = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    height, width = ((n - k) // s + 1 for n, k, s in zip(data.shape[3:], w.shape[2:], steps))
    out = np.zeros((a.shape[0], groups, weight.shape[1], height, width), np.result_type(a, w))
    for y in range(w.shape[2]):
        for x in range(w.shape[3]):
            part = data[
                ..., y : y + steps[0] * height : steps[0], x : x + steps[1] * width : steps[1]
            ]
            out += np.einsum("ngchw,goc->ngohw", part, weight[..., y, x])
    return out.reshape(a.shape[0], w.shape[0], height, width)


def conv2d_nhwc_python(a: Any, w: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """Return the convolution of ``a[n, h, w, c]`` with ``w[kh, kw, c, o]``."""
    moved = conv2d_nchw_python(
        a.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), stride, padding, groups
    )
    return moved.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a: Any, w: Any, stride: Any, padding: Any) -> Any:
    """Return the convolution of ``a[h, w, c, n]`` with ``w[kh, kw, c, o]``."""
    moved = conv2d_nchw_python(a.transpose(3, 2, 0, 1), w.transpose(3, 2, 0, 1), stride, padding)
    return moved.transpose(2, 3, 1, 0)


def conv1d_ncw_python(a: Any, w: Any, stride: Any, padding: Any, dilation: Any = 1) -> Any:
    """Return the convolution of ``a[n, c, w]`` with ``w[o, c, k]``."""
    one = stride if isinstance(stride, int) else stride[0]
    apart = dilation if isinstance(dilation, int) else dilation[0]
    weight = dilate_python(w, (1, 1, apart))
    around = _around(padding, weight.shape[2:], (one,), a.shape[2:])
    data = np.pad(a, [(0, 0), (0, 0), *around])[:, :, None]
    return conv2d_nchw_python(data, weight[:, :, None], (1, one), "VALID")[:, :, 0]


def depthwise_conv2d_python_nchw(a: Any, w: Any, stride: Any, padding: Any) -> Any:
    """Return the convolution of each channel with ``w[c, m, kh, kw]``, m results of each."""
    channels, times, *kernel = w.shape
    return conv2d_nchw_python(
        a, w.reshape(channels * times, 1, *kernel), stride, padding, groups=channels
    )


def depthwise_conv2d_python_nhwc(a: Any, w: Any, stride: Any, padding: Any) -> Any:
    """Return the convolution of each channel of ``a[n, h, w, c]`` with ``w[kh, kw, c, m]``."""
    moved = depthwise_conv2d_python_nchw(
        a.transpose(0, 3, 1, 2), w.transpose(2, 3, 0, 1), stride, padding
    )
    return moved.transpose(0, 2, 3, 1)


def conv2d_transpose_nchw_python(
    a: Any, w: Any, stride: Any, padding: Any, output_padding: Any = (0, 0)
) -> Any:
    """Return the gradient of a convolution with ``w[c, o, kh, kw]`` for its input."""
    steps, more = _pair(stride), _pair(output_padding)
    around = [
        (k - 1 - before, k - 1 - after + extra)
        for k, (before, after), extra in zip(
            w.shape[2:], _around(padding, w.shape[2:], steps, a.shape[2:]), more
        )
    ]
    data = np.pad(dilate_python(a, (1, 1, *steps)), [(0, 0), (0, 0), *around])
    return conv2d_nchw_python(data, w.transpose(1, 0, 2, 3)[..., ::-1, ::-1], 1, "VALID")


def dilate_python(data: Any, strides: Sequence[int], dilation_value: float = 0.0) -> Any:
    """Return an array with values between its elements, so that they are `strides` apart."""
    shape = [(n - 1) * s + 1 for n, s in zip(data.shape, strides)]
    out = np.full(shape, dilation_value, data.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = data
    return out


def softmax_python(data: Any, axis: int = -1) -> Any:
    """Return exponentials that sum up to 1 along an axis."""
    powers = np.exp(data - data.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(data: Any, axis: int = -1) -> Any:
    """Return the logarithms of `softmax_python`."""
    less = data - data.max(axis=axis, keepdims=True)
    return less - np.log(np.exp(less).sum(axis=axis, keepdims=True))


def poolnd_python(
    data: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding_before: Sequence[int],
    padding_after: Sequence[int],
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """Return the largest elements, or the means, of windows of the last axes."""
    fill = 0 if pool_type == "avg" else np.finfo(dtype).min
    sides, counts = [(0, 0), (0, 0)], []
    for n, k, s, d, before, after in zip(
        data.shape[2:], kernel, strides, dilation, padding_before, padding_after
    ):
        rest = n - (k - 1) * d - 1 + before + after
        counts.append((-(-rest // s) if ceil_mode else rest // s) + 1)
        sides.append((before, after + (s - 1 if ceil_mode else 0)))
    padded = np.pad(data, sides, constant_values=fill)
    inside = np.pad(np.ones_like(data), sides)
    parts, present = [], []
    for place in np.ndindex(*kernel):
        window = tuple(
            slice(p * d, p * d + (c - 1) * s + 1, s)
            for p, d, c, s in zip(place, dilation, counts, strides)
        )
        whole: Any = (..., *window)
        parts.append(padded[whole])
        present.append(inside[whole])
    if pool_type == "max":
        return np.max(parts, axis=0)
    total = float(np.prod(kernel)) if count_include_pad else np.maximum(np.sum(present, axis=0), 1)
    return np.sum(parts, axis=0) / total


def adaptive_pool(data: Any, out_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Return the largest elements, or the means, of parts of images ``[n, c, h, w]``."""
    sizes = _pair(out_size)
    take: Any = {"avg": np.mean, "max": np.max}[pool_type]
    edges = [
        [(i * n // count, -(-((i + 1) * n) // count)) for i in range(count)]
        for n, count in zip(data.shape[2:], sizes)
    ]
    rows = [
        [take(data[:, :, top:bottom, left:right], axis=(2, 3)) for left, right in edges[1]]
        for top, bottom in edges[0]
    ]
    return np.moveaxis(np.array(rows), (0, 1), (2, 3))


def upsampling_python(data: Any, scale: Sequence[int], layout: str = "NCHW") -> Any:
    """Return images whose rows and columns are repeated."""
    rows, columns = (layout.index(letter) for letter in "HW")
    return np.repeat(np.repeat(data, int(scale[0]), axis=rows), int(scale[1]), axis=columns)


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
