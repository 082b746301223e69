# SPDX-License-Identifier: Apache-2.0
"""Operators on images as arrays of NumPy, to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .borders import each, get_pad_tuple_generic
from .nn_pools import windows_of

__all__ = ["adaptive_pool", "conv1d_ncw_python", "conv1d_transpose_ncw_python",
           "conv2d_hwcn_python", "conv2d_nchw_python", "conv2d_nhwc_python",
           "conv2d_transpose_nchw_python", "conv3d_ncdhw_python", "conv3d_ndhwc_python",
           "conv3d_transpose_ncdhw_python", "depthwise_conv2d_python_nchw",
           "depthwise_conv2d_python_nhwc", "dilate_python", "group_conv1d_ncw_python",
           "poolnd_python", "resize1d_python", "resize2d_python", "resize3d_python",
           "upsampling_python"]  # fmt: skip


def _convolved(a: Any, w: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """Return the convolution of ``a[n, c, ...]`` with ``w[o, c, ...]``."""
    size = w.shape[2:]
    steps = each(stride, len(size))
    around = list(zip(*get_pad_tuple_generic(padding, size)))
    wide = np.pad(a, [(0, 0), (0, 0), *around])
    data = wide.reshape(a.shape[0], groups, -1, *wide.shape[2:])
    weight = w.reshape(groups, -1, *w.shape[1:])
    counts = [(n - k) // s + 1 for n, k, s in zip(data.shape[3:], size, steps)]
    out: Any = 0
    for place in np.ndindex(*size):
        part: Any = tuple(slice(p, p + s * n, s) for p, s, n in zip(place, steps, counts))
        out = out + np.einsum("ngc...,goc->ngo...", data[(..., *part)], weight[(..., *place)])
    return out.reshape(a.shape[0], w.shape[0], *counts)


def _last(a: Any) -> Any:
    return np.moveaxis(a, -1, 1)


def conv1d_ncw_python(a: Any, w: Any, stride: Any, padding: Any, dilation: Any = 1) -> Any:
    """Return the convolution of ``a[n, c, w]`` with ``w[o, c, k]``."""
    return _convolved(a, dilate_python(w, (1, 1, *each(dilation, 1))), stride, padding)


def group_conv1d_ncw_python(
    a: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """Return the convolution of groups of channels of ``a[n, c, w]`` with ``w[o, c, k]``."""
    return _convolved(a, dilate_python(w, (1, 1, *each(dilation, 1))), stride, padding, groups)


def conv2d_nchw_python(a: Any, w: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """Return the convolution of ``a[n, c, h, w]`` with ``w[o, c, kh, kw]``."""
    return _convolved(a, w, stride, padding, groups)


def conv3d_ncdhw_python(a: Any, w: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """Return the convolution of ``a[n, c, d, h, w]`` with ``w[o, c, kd, kh, kw]``."""
    return _convolved(a, w, stride, padding, groups)


def conv2d_nhwc_python(a: Any, w: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """Return the convolution of ``a[n, h, w, c]`` with ``w[kh, kw, c, o]``."""
    made = _convolved(_last(a), np.moveaxis(w, (-1, -2), (0, 1)), stride, padding, groups)
    return np.moveaxis(made, 1, -1)


conv3d_ndhwc_python = conv2d_nhwc_python


def conv2d_hwcn_python(a: Any, w: Any, stride: Any, padding: Any) -> Any:
    """Return the convolution of ``a[h, w, c, n]`` with ``w[kh, kw, c, o]``."""
    made = _convolved(a.transpose(3, 2, 0, 1), w.transpose(3, 2, 0, 1), stride, padding)
    return made.transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(a: Any, w: Any, stride: Any, padding: Any) -> Any:
    """Return the convolution of each channel with ``w[c, m, kh, kw]``, m results of each."""
    channels, times, *size = w.shape
    return _convolved(a, w.reshape(channels * times, 1, *size), stride, padding, channels)


def depthwise_conv2d_python_nhwc(a: Any, w: Any, stride: Any, padding: Any) -> Any:
    """Return the convolution of each channel of ``a[n, h, w, c]`` with ``w[kh, kw, c, m]``."""
    made = depthwise_conv2d_python_nchw(_last(a), w.transpose(2, 3, 0, 1), stride, padding)
    return np.moveaxis(made, 1, -1)


def conv2d_transpose_nchw_python(
    a: Any, w: Any, stride: Any, padding: Any, output_padding: Any = 0
) -> Any:
    """Return the gradient of a convolution with ``w[c, o, ...]`` for its input."""
    size = w.shape[2:]
    before, after = get_pad_tuple_generic(padding, size)
    extra = each(output_padding, len(size))
    around = [(k - 1 - b, k - 1 - e + m) for k, b, e, m in zip(size, before, after, extra)]
    data = np.pad(dilate_python(a, (1, 1, *each(stride, len(size)))), [(0, 0), (0, 0), *around])
    weight = np.flip(w.swapaxes(0, 1), tuple(range(2, w.ndim)))
    return _convolved(data, weight, 1, 0)


conv1d_transpose_ncw_python = conv3d_transpose_ncdhw_python = conv2d_transpose_nchw_python


def dilate_python(data: Any, strides: Sequence[int], dilation_value: float = 0.0) -> Any:
    """Return an array with values between its elements, so that they are `strides` apart."""
    shape = [(n - 1) * s + 1 for n, s in zip(data.shape, strides)]
    out = np.full(shape, dilation_value, data.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = data
    return out


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
    """Return the largest elements, or the means, of windows; channels are axis 1 or the last."""
    if layout.endswith("C"):
        made = poolnd_python(
            _last(data), kernel, strides, dilation, padding_before, padding_after, pool_type,
            count_include_pad, ceil_mode, dtype,
        )  # fmt: skip
        return np.moveaxis(made, 1, -1)
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
    """Return the largest elements, or the means, of parts of images, rows or volumes."""
    if layout.endswith("C"):
        return np.moveaxis(adaptive_pool(_last(data), out_size, pool_type), 1, -1)
    take: Any = {"avg": np.mean, "max": np.max}[pool_type]
    sizes = each(out_size, data.ndim - 2)
    out = np.empty((*data.shape[:2], *sizes), data.dtype)
    for place in np.ndindex(*sizes):
        part: Any = tuple(
            slice(i * n // count, -(-((i + 1) * n) // count))
            for i, n, count in zip(place, data.shape[2:], sizes)
        )
        out[(..., *place)] = take(data[(..., *part)], axis=tuple(range(2, data.ndim)))
    return out


def _weights(old: int, new: int, method: str, mode: str) -> Any:
    """Return the share of each element of a row in each element of one of another length."""
    i = np.arange(new)
    position = {
        "half_pixel": (i + 0.5) * (old / new) - 0.5,
        "align_corners": i * ((old - 1) / max(new - 1, 1)),
        "asymmetric": i * (old / new),
    }[mode]
    if method.startswith("nearest"):
        near = np.round(position) if mode == "align_corners" else np.floor(position + 1e-5)
        taps = [(near, np.ones(new))]
    else:
        first = np.floor(position)
        part = position - first
        taps = [(first, 1 - part), (first + 1, part)]
        if method == "cubic":
            square, cube = part**2, part**3
            taps = [
                (first - 1, -0.5 * (cube - 2 * square + part)),
                (first, 1.5 * cube - 2.5 * square + 1),
                (first + 1, -1.5 * cube + 2 * square + 0.5 * part),
                (first + 2, 0.5 * cube - 0.5 * square),
            ]
    out = np.zeros((new, old))
    for place, weight in taps:
        np.add.at(out, (i, place.clip(0, old - 1).astype(int)), weight)
    return out


def _resized(letters: str, data: Any, scale: Any, layout: str, method: str, mode: str) -> Any:
    for axis, times in zip(windows_of("resize", layout, letters), scale):
        old = data.shape[axis]
        shares = _weights(old, round(old * times), method, mode)
        data = np.moveaxis(np.tensordot(data, shares, (axis, 1)), -1, axis)
    return data


def resize1d_python(
    data: Any, scale: Any, layout: str = "NCW", method: str = "linear",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Return rows so many times as long."""
    return _resized("W", data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data: Any, scale: Any, layout: str = "NCHW", method: str = "linear",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Return images so many times as large in each direction."""
    return _resized("HW", data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data: Any, scale: Any, layout: str = "NCDHW", method: str = "linear",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Return volumes so many times as large in each direction."""
    return _resized("DHW", data, scale, layout, method, coordinate_transformation_mode)


def upsampling_python(data: Any, scale: Sequence[int], layout: str = "NCHW") -> Any:
    """Return images whose rows and columns are repeated."""
    rows, columns = (layout.index(letter) for letter in "HW")
    return np.repeat(np.repeat(data, int(scale[0]), axis=rows), int(scale[1]), axis=columns)
