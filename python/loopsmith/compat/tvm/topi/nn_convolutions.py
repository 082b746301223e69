# SPDX-License-Identifier: Apache-2.0
"""Convolutions of images in several layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te

from .shapes import transpose

__all__ = ["conv1d", "conv1d_ncw", "conv1d_nwc", "conv2d", "conv2d_hwcn", "conv2d_nchw",
           "conv2d_nhwc", "conv3d_ncdhw", "conv3d_ndhwc", "depthwise_conv2d_nchw",
           "depthwise_conv2d_nhwc"]  # fmt: skip


def _each(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def _borders(padding: Any, sizes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the widths of the borders before and after; ``"SAME"`` keeps the extents."""
    count = len(sizes)
    if isinstance(padding, str):
        whole = [0 if padding == "VALID" else size - 1 for size in sizes]
        before = [width // 2 for width in whole]
        return before, [width - low for width, low in zip(whole, before)]
    sides = _each(padding, count)
    return (sides, sides) if len(sides) == count else (sides[:count], sides[count:])


def _convolved(
    data: Any,
    weight: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any,
    name: str,
    *,
    last: bool = False,
    depthwise: bool = False,
) -> Any:
    """Return the convolution over all dimensions but those of images and channels.

    Parameters
    ----------
    last
        Whether channels are the last dimension of `data`, and of `weight` the last two.
    depthwise
        Whether each channel has weights of its own, and makes as many as the weights say.
    """
    from .nn import pad

    count = len(data.shape) - 2
    spatial = slice(1, 1 + count) if last else slice(2, 2 + count)
    channels = data.shape[-1] if last else data.shape[1]
    extents = list(data.shape)[spatial]
    kernel = list(weight.shape)[:count] if last else list(weight.shape)[2:]
    steps, gaps = _each(stride, count), _each(dilation, count)
    sizes = [(size - 1) * gap + 1 for size, gap in zip(kernel, gaps)]
    before, after = _borders(padding, sizes)
    edges = ([0], [0]) if last else ([0, 0], [])
    wide = pad(
        data, [*edges[0], *before, *edges[1]], [*edges[0], *after, *edges[1]], name="pad_temp"
    )
    outer = [
        (extent - size + low + high) // step + 1
        for extent, size, low, high, step in zip(extents, sizes, before, after, steps)
    ]
    multiplier = (weight.shape[-1] if last else weight.shape[1]) if depthwise else None
    made = channels * multiplier if depthwise else weight.shape[-1] if last else weight.shape[0]
    axes = [
        te.reduce_axis((0, size), name=f"r{'dyx'[3 - count + i]}") for i, size in enumerate(kernel)
    ]
    rc = te.reduce_axis((0, channels), name="rc")
    dtype = out_dtype or data.dtype

    def element(*indices: Any) -> Any:
        image, rest = indices[0], indices[1:]
        out, at = (rest[-1], rest[:-1]) if last else (rest[0], rest[1:])
        place = [i * step + r * gap for i, step, r, gap in zip(at, steps, axes, gaps)]
        source = out // multiplier if depthwise else rc.var
        read = wide(image, *place, source) if last else wide(image, source, *place)
        if depthwise:
            pair = (source, out % multiplier)
        else:
            pair = (source, out) if last else (out, source)
        factor = weight(*axes, *pair) if last else weight(*pair, *axes)
        over = axes if depthwise else [*axes, rc] if last else [rc, *axes]
        return te.sum(read.astype(dtype) * factor.astype(dtype), axis=over)

    shape = [data.shape[0], *outer, made] if last else [data.shape[0], made, *outer]
    return te.compute(shape, element, name=name, tag=name)


def conv2d_nchw(
    Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Return the convolution of ``Input[n, c, h, w]`` with ``Filter[k, c, h, w]``."""
    return _convolved(Input, Filter, stride, padding, dilation, out_dtype, "conv2d_nchw")


def conv2d_nhwc(
    Input: Any,
    Filter: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any = None,
    **_: None,
) -> Any:
    """Return the convolution of ``Input[n, h, w, c]`` with ``Filter[h, w, c, k]``."""
    return _convolved(Input, Filter, stride, padding, dilation, out_dtype, "conv2d_nhwc", last=True)


def conv2d(
    data: Any,
    kernel: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Any:
    """Return the convolution of images in layout NCHW or NHWC.

    Raises
    ------
    ValueError
        The layout is another one.
    """
    layouts = {("NCHW", "OIHW"): conv2d_nchw, ("NHWC", "HWIO"): conv2d_nhwc}
    usual = {"NCHW": "OIHW", "NHWC": "HWIO"}
    known = layouts.get((data_layout, kernel_layout or usual.get(data_layout, "")))
    if known is None:
        raise ValueError(f"conv2d: there is no layout {data_layout} {kernel_layout}")
    return known(data, kernel, strides, padding, dilation, out_dtype)


def conv1d_ncw(
    data: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Any:
    """Return the convolution of ``data[n, c, w]`` with ``kernel[k, c, w]``."""
    return _convolved(data, kernel, strides, padding, dilation, out_dtype, "conv1d_ncw")


def conv1d_nwc(
    data: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Any:
    """Return the convolution of ``data[n, w, c]`` with ``kernel[w, c, k]``."""
    return _convolved(data, kernel, strides, padding, dilation, out_dtype, "conv1d_nwc", last=True)


def conv1d(
    data: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Any:
    """Return the convolution of rows in layout NCW or NWC.

    Raises
    ------
    ValueError
        The layout is another one.
    """
    usual = {"NCW": "OIW", "NWC": "WIO"}
    known = {("NCW", "OIW"): conv1d_ncw, ("NWC", "WIO"): conv1d_nwc}.get(
        (data_layout, kernel_layout or usual.get(data_layout, ""))
    )
    if known is None:
        raise ValueError(f"conv1d: there is no layout {data_layout} {kernel_layout}")
    return known(data, kernel, strides, padding, dilation, out_dtype)


def conv2d_hwcn(
    Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Return the convolution of ``Input[h, w, c, n]`` with ``Filter[h, w, c, k]``."""
    images = transpose(Input, [3, 0, 1, 2])
    made = conv2d_nhwc(images, Filter, stride, padding, dilation, out_dtype)
    return transpose(made, [1, 2, 3, 0])


def conv3d_ndhwc(
    Input: Any,
    Filter: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    out_dtype: Any = None,
) -> Any:
    """Return the convolution of ``Input[n, d, h, w, c]`` with ``Filter[d, h, w, c, k]``."""
    if groups != 1:
        raise ValueError("conv3d_ndhwc: groups is 1 here")
    name = "conv3d_ndhwc"
    return _convolved(Input, Filter, stride, padding, dilation, out_dtype, name, last=True)


def conv3d_ncdhw(
    Input: Any,
    Filter: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    out_dtype: Any = None,
) -> Any:
    """Return the convolution of ``Input[n, c, d, h, w]`` with ``Filter[k, c, d, h, w]``."""
    if groups != 1:
        raise ValueError("conv3d_ncdhw: groups is 1 here")
    return _convolved(Input, Filter, stride, padding, dilation, out_dtype, "conv3d_ncdhw")


def depthwise_conv2d_nchw(
    Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Return ``Input[n, c, h, w]``, each channel convolved with ``Filter[c, m, h, w]``."""
    name = "depthwise_conv2d_nchw"
    return _convolved(Input, Filter, stride, padding, dilation, out_dtype, name, depthwise=True)


def depthwise_conv2d_nhwc(
    Input: Any,
    Filter: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    kernel_layout: str = "HWOI",
    out_dtype: Any = None,
) -> Any:
    """Return ``Input[n, h, w, c]``, each channel convolved with ``Filter[h, w, c, m]``."""
    name = "depthwise_conv2d_nhwc"
    return _convolved(
        Input, Filter, stride, padding, dilation, out_dtype, name, last=True, depthwise=True
    )
