# SPDX-License-Identifier: Apache-2.0
"""Convolutions of images in several layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopsmith import te

from .borders import each, get_pad_tuple_generic
from .nn_layers import dilate

__all__ = ["conv", "conv1d", "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw", "conv2d",
           "conv2d_NCHWc", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc", "conv2d_transpose_nchw",
           "conv3d_ncdhw", "conv3d_ndhwc", "conv3d_transpose_ncdhw", "depthwise_conv2d_NCHWc",
           "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "group_conv1d_ncw",
           "group_conv1d_nwc", "group_conv1d_transpose_ncw", "group_conv2d_nchw",
           "group_conv2d_nhwc", "group_conv2d_transpose_nchw"]  # fmt: skip

_NOW = {"Input": "data", "Filter": "kernel", "stride": "strides"}
_KERNELS = {"NCW": "OIW", "NWC": "WIO", "NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO",
            "NCDHW": "OIDHW", "NDHWC": "DHWIO"}  # fmt: skip
"""The usual layout of weights, by the layout of images."""


def conv(
    inp: Any,
    filt: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: Any = None,
    *_: Any,
    name: str = "conv",
    **__: Any,
) -> Any:
    """Return the convolution over all dimensions but those of images N and channels C.

    Parameters
    ----------
    groups
        Into how many groups the channels are divided, each with weights of its own.
    data_layout
        A letter for each dimension of `inp`, and of the result, as NCHW.
    kernel_layout
        A letter for each dimension of `filt`: O for channels of the result, I for those of a group
        of `inp`, and those of the spatial dimensions.

    Raises
    ------
    ValueError
        For a layout of no such letters.
    """
    weights = kernel_layout or _KERNELS.get(data_layout, "")
    letters = [letter for letter in data_layout if letter not in "NC"]
    if sorted(weights) != sorted(["O", "I", *letters]) or len(inp.shape) != len(data_layout):
        raise ValueError(f"{name}: there is no layout {data_layout} {kernel_layout}")
    channels, made = inp.shape[data_layout.index("C")], filt.shape[weights.index("O")]
    own, per_group = filt.shape[weights.index("I")], made // groups
    wide, outer, over, places = _windows(
        inp,
        [data_layout.index(letter) for letter in letters],
        [filt.shape[weights.index(letter)] for letter in letters],
        (stride, padding, dilation),
    )
    rc = te.reduce_axis((0, channels // groups if groups != 1 else own), name="rc")
    dtype = out_dtype or inp.dtype

    def element(*indices: Any) -> Any:
        at = dict(zip(data_layout, indices))
        first = at["C"] // per_group * own if groups != 1 else 0
        read = {"N": at["N"], "C": first + rc, **dict(zip(letters, places(indices)))}
        taken = {"O": at["C"], "I": rc, **dict(zip(letters, over))}
        left = wide(*(read[letter] for letter in data_layout)).astype(dtype)
        right = filt(*(taken[letter] for letter in weights)).astype(dtype)
        inner = [*over, rc] if data_layout.endswith("C") else [rc, *over]
        return te.sum(left * right, axis=inner)

    extents = {"N": inp.shape[data_layout.index("N")], "C": made, **dict(zip(letters, outer))}
    return te.compute([extents[letter] for letter in data_layout], element, name=name, tag=name)


def _windows(
    data: Any, axes: Sequence[int], kernel: Sequence[Any], way: tuple[Any, Any, Any]
) -> tuple[Any, list[Any], list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return a tensor with borders, and how windows move over some of its axes.

    With it come how many windows there are along each axis, the axes of a window, and a function
    from the indices of the result to the places of an element of its window.
    """
    from .nn import pad

    count = len(axes)
    steps, gaps = each(way[0], count), each(way[2], count)
    sizes = [(size - 1) * gap + 1 for size, gap in zip(kernel, gaps)]
    borders = get_pad_tuple_generic(way[1], sizes)
    sides = [[0] * len(data.shape), [0] * len(data.shape)]
    for side, widths in zip(sides, borders):
        for axis, width in zip(axes, widths):
            side[axis] = width
    outer = [
        (data.shape[axis] - size + low + high) // step + 1
        for axis, size, low, high, step in zip(axes, sizes, *borders, steps)
    ]
    over = [
        te.reduce_axis((0, size), name=f"r{'dyx'[3 - count + i]}") for i, size in enumerate(kernel)
    ]

    def places(indices: Sequence[Any]) -> list[Any]:
        return [indices[axis] * s + r * g for axis, s, r, g in zip(axes, steps, over, gaps)]

    return pad(data, sides[0], sides[1], name="pad_temp"), outer, over, places


def _fixed(name: str, layout: str, doc: str) -> Callable[..., Any]:
    """Return a convolution of one layout."""

    def apply(
        data: Any,
        kernel: Any,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        out_dtype: Any = None,
        **_: Any,
    ) -> Any:
        return conv(data, kernel, strides, padding, dilation, 1, layout, "", out_dtype, name=name)

    return _named(apply, name, doc)


def _grouped(name: str, layout: str, doc: str) -> Callable[..., Any]:
    """Return a convolution of groups of channels, of one layout."""

    def apply(
        data: Any,
        kernel: Any,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        groups: Any = 1,
        out_dtype: Any = None,
    ) -> Any:
        # Programs before 0.8 name the type of the result where the groups are now.
        count, dtype = (1, groups) if isinstance(groups, str) else (groups, out_dtype)
        return conv(data, kernel, strides, padding, dilation, count, layout, "", dtype, name=name)

    return _named(apply, name, doc)


def _named(apply: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    """Return a function under its name, which takes its arguments by any name they have had."""

    def known(*args: Any, **kwargs: Any) -> Any:
        return apply(*args, **{_NOW.get(key, key): value for key, value in kwargs.items()})

    known.__name__, known.__doc__ = name, doc
    return known


def _doc(layout: str, of: str = "convolution") -> str:
    images, weights = (", ".join(letters.lower()) for letters in (layout, _KERNELS[layout]))
    return f"Return the {of} of ``data[{images}]`` with ``kernel[{weights}]``."


conv1d_ncw = _fixed("conv1d_ncw", "NCW", _doc("NCW"))
conv1d_nwc = _fixed("conv1d_nwc", "NWC", _doc("NWC"))
conv2d_nchw = _fixed("conv2d_nchw", "NCHW", _doc("NCHW"))
conv2d_nhwc = _fixed("conv2d_nhwc", "NHWC", _doc("NHWC"))
conv2d_hwcn = _fixed("conv2d_hwcn", "HWCN", _doc("HWCN"))
_OF_GROUPS = "convolution of groups of channels"
conv3d_ncdhw = _grouped("conv3d_ncdhw", "NCDHW", _doc("NCDHW", _OF_GROUPS))
conv3d_ndhwc = _grouped("conv3d_ndhwc", "NDHWC", _doc("NDHWC", _OF_GROUPS))
group_conv1d_ncw = _grouped("group_conv1d_ncw", "NCW", _doc("NCW", _OF_GROUPS))
group_conv1d_nwc = _grouped("group_conv1d_nwc", "NWC", _doc("NWC", _OF_GROUPS))
group_conv2d_nchw = _grouped("group_conv2d_nchw", "NCHW", _doc("NCHW", _OF_GROUPS))
group_conv2d_nhwc = _grouped("group_conv2d_nhwc", "NHWC", _doc("NHWC", _OF_GROUPS))


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
    """Return the convolution of images in layout NCHW, NHWC or HWCN; see `conv`."""
    return conv(data, kernel, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype,
                name="conv2d")  # fmt: skip


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
    """Return the convolution of rows in layout NCW or NWC; see `conv`."""
    return conv(data, kernel, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype,
                name="conv1d")  # fmt: skip


def conv2d_NCHWc(
    data: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str = "float32",
) -> Any:
    """Return the convolution of ``data[n, C, h, w, c]`` with ``kernel[K, C, h, w, c, k]``."""
    n, _, _, _, block = data.shape
    made, chunks, kh, kw, _, lanes = kernel.shape
    groups = data.shape[1] // chunks
    wide, outer, over, places = _windows(data, [2, 3], [kh, kw], (stride, padding, dilation))
    ic = te.reduce_axis((0, chunks * block), name="ic")

    def element(*at: Any) -> Any:
        chunk, lane = ic // block, ic % block
        first = at[1] // (made // groups) * chunks
        left = wide(at[0], first + chunk, *places(at), lane).astype(out_dtype)
        right = kernel(at[1], chunk, *over, lane, at[4]).astype(out_dtype)
        return te.sum(left * right, axis=[ic, *over])

    return te.compute((n, made, *outer, lanes), element, name="conv2d_NCHWc", tag="conv2d_NCHWc")


def _depthwise(
    name: str, layout: str, data: Any, kernel: Any, way: tuple[Any, Any, Any], out_dtype: Any
) -> Any:
    """Return the convolution of each channel with weights of its own, several for each."""
    last = layout == "NHWC"
    channel = 3 if last else 1
    size, times = (
        (kernel.shape[:2], kernel.shape[3]) if last else (kernel.shape[2:], kernel.shape[1])
    )
    wide, outer, over, places = _windows(data, [1, 2] if last else [2, 3], list(size), way)
    dtype = out_dtype or data.dtype

    def element(*at: Any) -> Any:
        source, which = at[channel] // times, at[channel] % times
        place = places(at)
        read = wide(at[0], *place, source) if last else wide(at[0], source, *place)
        weight = kernel(*over, source, which) if last else kernel(source, which, *over)
        return te.sum(read.astype(dtype) * weight.astype(dtype), axis=over)

    made = data.shape[channel] * times
    shape = [data.shape[0], *outer, made] if last else [data.shape[0], made, *outer]
    return te.compute(shape, element, name=name, tag=name)


def depthwise_conv2d_nchw(
    Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Return ``Input[n, c, h, w]``, each channel convolved with ``Filter[c, m, h, w]``."""
    way = (stride, padding, dilation)
    return _depthwise("depthwise_conv2d_nchw", "NCHW", Input, Filter, way, out_dtype)


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
    way = (stride, padding, dilation)
    # In some generations the type is the sixth argument.
    is_layout = "O" in kernel_layout
    dtype = out_dtype or (None if is_layout else kernel_layout)
    return _depthwise("depthwise_conv2d_nhwc", "NHWC", Input, Filter, way, dtype)


def depthwise_conv2d_NCHWc(
    Input: Any,
    Filter: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = None,
) -> Any:
    """Return ``Input[n, C, h, w, c]``, each channel convolved with ``Filter[C, 1, h, w, 1, c]``."""
    n, _, _, _, block = Input.shape
    made, _, kh, kw, _, lanes = Filter.shape
    wide, outer, over, places = _windows(Input, [2, 3], [kh, kw], (stride, padding, dilation))
    dtype = out_dtype or Input.dtype

    def element(*at: Any) -> Any:
        channel = at[1] * lanes + at[4]
        left = wide(at[0], channel // block, *places(at), channel % block).astype(dtype)
        return te.sum(left * Filter(at[1], 0, *over, 0, at[4]).astype(dtype), axis=over)

    name = "depthwise_conv2d_NCHWc"
    return te.compute((n, made, *outer, lanes), element, name=name, tag=name)


def _dilation2d(
    name: str, last: bool, data: Any, weights: Any, way: tuple[Any, Any, Any], out_dtype: Any
) -> Any:
    size = list(weights.shape[:2] if last else weights.shape[1:])
    wide, outer, over, places = _windows(data, [1, 2] if last else [2, 3], size, way)
    dtype = out_dtype or data.dtype

    def element(*at: Any) -> Any:
        place = places(at)
        channel = at[3] if last else at[1]
        read = wide(at[0], *place, channel) if last else wide(at[0], channel, *place)
        more = weights(*over, channel) if last else weights(channel, *over)
        return te.max(read.astype(dtype) + more.astype(dtype), axis=over)

    n, channels = data.shape[0], data.shape[3 if last else 1]
    shape = (n, *outer, channels) if last else (n, channels, *outer)
    return te.compute(shape, element, name=name, tag=name)


def dilation2d_nchw(
    input: Any, filter: Any, stride: Any, padding: Any, dilations: Any, out_dtype: Any = None
) -> Any:
    """Return the largest of ``input[n, c, h, w]`` plus ``filter[c, h, w]`` in each window."""
    way = (stride, padding, dilations)
    return _dilation2d("dilation2d_nchw", False, input, filter, way, out_dtype)


def dilation2d_nhwc(
    input: Any, filter: Any, stride: Any, padding: Any, dilations: Any, out_dtype: Any = None
) -> Any:
    """Return the largest of ``input[n, h, w, c]`` plus ``filter[h, w, c]`` in each window."""
    way = (stride, padding, dilations)
    return _dilation2d("dilation2d_nhwc", True, input, filter, way, out_dtype)


def _transposed(
    layout: str, data: Any, kernel: Any, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any, groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of a convolution for its input: each element is spread by weights."""
    from .nn import pad

    count, dtype = len(layout) - 2, out_dtype or data.dtype
    steps, more = each(strides, count), each(output_padding, count)
    _, per_group, *sizes = kernel.shape
    before, after = get_pad_tuple_generic(padding, sizes)
    is_plain = count == 2 and groups == 1 and before == after
    if is_plain:
        return te.nn.conv2d_transpose(
            _cast(data, dtype), _cast(kernel, dtype), tuple(steps), tuple(before), tuple(more)
        )
    low = [0, 0, *(size - 1 - width for size, width in zip(sizes, before))]
    high = [0, 0, *(size - 1 - width + m for size, width, m in zip(sizes, after, more))]
    wide = pad(dilate(data, [1, 1, *steps]), low, high, name="data_pad")
    own = data.shape[1] // groups

    def turned(o: Any, i: Any, *at: Any) -> Any:
        opposite = [size - 1 - k for size, k in zip(sizes, at)]
        return kernel(o // per_group * own + i, o % per_group, *opposite)

    shape = (per_group * groups, own, *sizes)
    weights = te.compute(shape, turned, name="kernel_transform", tag="injective")
    return conv(wide, weights, 1, 0, 1, groups, layout, "", dtype, name="conv_transpose")


def _cast(a: Any, dtype: str) -> Any:
    if a.dtype == dtype:
        return a
    return te.compute(a.shape, lambda *i: a(*i).astype(dtype), name=f"T_cast_{dtype}")


def _spread(name: str, layout: str) -> Callable[..., Any]:
    """Return a transposed convolution of one layout, of groups where the name says so."""
    is_grouped = name.startswith("group")

    def apply(
        data: Any, kernel: Any, strides: Any, padding: Any, out_dtype: Any = None,
        output_padding: Any = 0, groups: int = 1,
    ) -> Any:  # fmt: skip
        if groups != 1 and not is_grouped:
            raise ValueError(f"{name}: groups is 1 here, group_{name} has several")
        return _transposed(
            layout, data, kernel, strides, padding, out_dtype, output_padding, groups
        )

    images = ", ".join(layout.lower())
    weights = ", ".join(f"co{layout[2:].lower()}")
    doc = f"Return ``data[{images}]`` of which each element is spread by ``kernel[{weights}]``."
    return _named(apply, name, doc)


conv1d_transpose_ncw = _spread("conv1d_transpose_ncw", "NCW")
conv2d_transpose_nchw = _spread("conv2d_transpose_nchw", "NCHW")
conv3d_transpose_ncdhw = _spread("conv3d_transpose_ncdhw", "NCDHW")
group_conv1d_transpose_ncw = _spread("group_conv1d_transpose_ncw", "NCW")
group_conv2d_transpose_nchw = _spread("group_conv2d_transpose_nchw", "NCHW")
