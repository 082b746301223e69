# SPDX-License-Identifier: Apache-2.0
"""Norms of groups, borders that mirror, and layers that move blocks of pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopsmith import te, tir

from ..tag import BROADCAST, INJECTIVE

__all__ = ["batch_to_space_nd", "circular_pad", "depth_to_space", "fast_softmax", "group_norm",
           "instance_norm", "l2_normalize", "lrn", "matmul", "mirror_pad", "nll_loss",
           "pixel_shuffle", "reflect_pad", "replicate_pad", "space_to_batch_nd",
           "space_to_depth"]  # fmt: skip


def matmul(
    tensor_a: Any,
    tensor_b: Any,
    bias: Any = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    **_: None,
) -> Any:
    """Return the product of matrices, of the second ones one for all or each its own."""
    left = _turned(tensor_a) if transpose_a else tensor_a
    right = _turned(tensor_b) if transpose_b else tensor_b
    product = te.nn.matmul(left, right, out_dtype)
    if bias is None:
        return product
    return te.compute(
        product.shape, lambda *i: product(*i) + bias(i[-1]).astype(product.dtype), tag=BROADCAST
    )


def _turned(a: Any) -> Any:
    rank = len(a.shape)
    return te.nn.transpose(a, [*range(rank - 2), rank - 1, rank - 2])


def group_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    num_groups: int,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Any:
    """Return groups of channels with mean 0 and variance 1, scaled and shifted.

    Raises
    ------
    ValueError
        The axes are not all behind the channels, which are axis 1.
    """
    rank = len(data.shape)
    if channel_axis % rank != 1 or sorted(i % rank for i in axes) != list(range(2, rank)):
        raise ValueError("group_norm: channels are axis 1, and the axes all behind it, here")
    return te.nn.group_norm(data, gamma, beta, num_groups, epsilon)


def instance_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    channel_axis: int,
    axis: Sequence[int],
    epsilon: float = 1e-5,
) -> Any:
    """Return channels of each image with mean 0 and variance 1, scaled and shifted."""
    return group_norm(data, gamma, beta, int(data.shape[1]), channel_axis, axis, epsilon)


def l2_normalize(data: Any, eps: float, axis: Any = None) -> Any:
    """Return elements over the root of the sum of squares over axes, which is `eps` at least."""
    from .reductions import sum as sum_over

    rank = len(data.shape)
    over = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    places = [i % rank for i in over]
    squares = te.compute(data.shape, lambda *i: data(*i) * data(*i), name="T_squares")
    total = sum_over(squares, places, keepdims=True)
    least = te.const(eps, data.dtype)

    def element(*i: Any) -> Any:
        at = [0 if place in places else index for place, index in enumerate(i)]
        return data(*i) / te.sqrt(tir.max(total(*at), least))

    return te.compute(data.shape, element, name="l2_normalize", tag=BROADCAST)


def lrn(
    data: Any,
    size: int,
    axis: int = 1,
    alpha: float = 0.0001,
    beta: float = 0.75,
    bias: float = 2,
) -> Any:
    """Return elements divided by a power of the mean of squares of their neighbours."""
    at, radius = axis % len(data.shape), size // 2
    extent = data.shape[at]
    k = te.reduce_axis((0, size), name="k")

    def squared(*i: Any) -> Any:
        place = i[at] - radius + k
        value = data(*i[:at], place, *i[at + 1 :])
        inside = te.all(place >= 0, place < extent)
        return te.sum(te.if_then_else(inside, value * value, te.const(0, data.dtype)), axis=k)

    total = te.compute(data.shape, squared, name="T_window_squares")
    slope, start = te.const(alpha / size, data.dtype), te.const(bias, data.dtype)
    power = te.const(beta, data.dtype)
    return te.compute(
        data.shape,
        lambda *i: data(*i) / te.power(start + slope * total(*i), power),
        name="T_lrn",
    )


def _bordered(
    data: Any, before: Sequence[Any], after: Any, name: str, source: Callable[[Any, Any], Any]
) -> Any:
    """Return a tensor with a border, of elements that `source` finds for places outside."""
    behind = before if after is None else after
    shape = [low + extent + high for low, extent, high in zip(before, data.shape, behind)]

    def element(*i: Any) -> Any:
        places = zip(i, before, data.shape, behind)
        return data(*(
            k if _is_zero(low) and _is_zero(high) else source(k - low, extent)
            for k, low, extent, high in places
        ))  # fmt: skip

    return te.compute(shape, element, name=name, tag=f"{INJECTIVE},pad")


def _is_zero(width: Any) -> bool:
    return isinstance(width, (int, tir.IntImm)) and int(width) == 0


def _mirrored(offset: int) -> Callable[[Any, Any], Any]:
    def source(inner: Any, extent: Any) -> Any:
        behind = te.select(inner >= extent, extent * 2 - inner - 2 + offset, inner)
        return te.select(inner < 0, 0 - inner - offset, behind)

    return source


def mirror_pad(
    data: Any,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Any:
    """Return a tensor with a border in which it is mirrored, at the edge of elements or in them."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ValueError(f"mirror_pad: mode is {mode!r}, not 'SYMMETRIC' or 'REFLECT'")
    return _bordered(data, pad_before, pad_after, name, _mirrored(int(mode == "SYMMETRIC")))


def reflect_pad(
    data: Any, pad_before: Sequence[Any], pad_after: Any = None, name: str = "ReflectPadInput"
) -> Any:
    """Return a tensor with a border in which it is mirrored at its outermost elements."""
    return _bordered(data, pad_before, pad_after, name, _mirrored(0))


def replicate_pad(
    data: Any, pad_before: Sequence[Any], pad_after: Any = None, name: str = "ReplicatePadInput"
) -> Any:
    """Return a tensor with a border that repeats its outermost elements."""
    return _bordered(
        data, pad_before, pad_after, name, lambda k, extent: tir.max(tir.min(k, extent - 1), 0)
    )


def circular_pad(
    data: Any, pad_before: Sequence[Any], pad_after: Any = None, name: str = "CircularPadInput"
) -> Any:
    """Return a tensor with a border that goes on at its other end."""
    return _bordered(data, pad_before, pad_after, name, te.floormod)


def pixel_shuffle(data: Any, upscale_factor: int, name: str = "PixelShuffle") -> Any:
    """Return images of which neighbouring channels have become squares of pixels."""
    return depth_to_space(data, upscale_factor, "NCHW", "CDR")


def space_to_depth(data: Any, block_size: int, layout: str = "NCHW") -> Any:
    """Return images of which each square of pixels has become more channels."""
    last = _is_last("space_to_depth", layout)
    n, a, b, c = data.shape
    channels, h, w = (c, a, b) if last else (a, b, c)

    def element(*i: Any) -> Any:
        image, channel, y, x = (i[0], i[3], i[1], i[2]) if last else i
        square = channel // channels
        row, column = y * block_size + square // block_size, x * block_size + square % block_size
        source = channel % channels
        return data(image, row, column, source) if last else data(image, source, row, column)

    made = channels * block_size * block_size
    small = (h // block_size, w // block_size)
    shape = (n, *small, made) if last else (n, made, *small)
    return te.compute(shape, element, name="space_to_depth", tag=INJECTIVE)


def depth_to_space(data: Any, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Any:
    """Return images of which channels have become squares of pixels."""
    if mode not in ("DCR", "CDR"):
        raise ValueError(f"depth_to_space: mode is {mode!r}, not 'DCR' or 'CDR'")
    last = _is_last("depth_to_space", layout)
    n, a, b, c = data.shape
    channels, h, w = (c, a, b) if last else (a, b, c)
    area = block_size * block_size
    made = channels // area

    def element(*i: Any) -> Any:
        image, channel, y, x = (i[0], i[3], i[1], i[2]) if last else i
        square = y % block_size * block_size + x % block_size
        source = square * made + channel if mode == "DCR" else channel * area + square
        row, column = y // block_size, x // block_size
        return data(image, row, column, source) if last else data(image, source, row, column)

    large = (h * block_size, w * block_size)
    shape = (n, *large, made) if last else (n, made, *large)
    return te.compute(shape, element, name="depth_to_space", tag=INJECTIVE)


def _is_last(name: str, layout: str) -> bool:
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"{name}: there is no layout {layout}, NCHW and NHWC are known")
    return layout == "NHWC"


def batch_to_space_nd(
    data: Any,
    block_shape: Sequence[int],
    crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> Any:
    """Return blocks of images put together from several images, and cut at their borders."""
    count = len(block_shape)
    blocks = 1
    for size in block_shape:
        blocks *= size
    images = data.shape[0] // blocks
    spatial = [
        extent * size - low - high
        for extent, size, low, high in zip(
            data.shape[1:], block_shape, crop_begin_list, crop_end_list
        )
    ]

    def element(*i: Any) -> Any:
        number: Any = 0
        place = []
        for index, size, low in zip(i[1:], block_shape, crop_begin_list):
            number = number * size + (index + low) % size
            place.append((index + low) // size)
        return data(number * images + i[0], *place, *i[1 + count :])

    shape = [images, *spatial, *data.shape[1 + count :]]
    return te.compute(shape, element, name="batch_to_space_nd", tag=INJECTIVE)


def space_to_batch_nd(
    data: Any,
    block_shape: Sequence[int],
    pad_before: Sequence[int],
    pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> Any:
    """Return images of which each has the pixels at one place of all blocks."""
    from .nn import pad

    count, rank = len(block_shape), len(data.shape)
    rest = [0] * (rank - 1 - count)
    wide = pad(data, [0, *pad_before, *rest], [0, *pad_after, *rest], pad_value)
    images = data.shape[0]
    blocks = 1
    for size in block_shape:
        blocks *= size

    def element(*i: Any) -> Any:
        number = i[0] // images
        place: list[Any] = []
        for index, size in zip(reversed(i[1 : 1 + count]), reversed(block_shape)):
            place.insert(0, index * size + number % size)
            number = number // size
        return wide(i[0] % images, *place, *i[1 + count :])

    spatial = [extent // size for extent, size in zip(wide.shape[1:], block_shape)]
    shape = [images * blocks, *spatial, *wide.shape[1 + count :]]
    return te.compute(shape, element, name="space_to_batch_nd", tag=INJECTIVE)


def fast_softmax(x: Any, axis: int = -1) -> Any:
    """Return what `softmax` gives: exponentials are fast here as they are."""
    from .nn import softmax

    return softmax(x, axis)


def nll_loss(
    predictions: Any, targets: Any, weights: Any, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    """Return the loss ``-weights[t] * predictions[n, t, ...]`` for targets t.

    Raises
    ------
    ValueError
        For a reduction other than ``"mean"``, ``"sum"`` and ``"none"``.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"nll_loss: reduction is {reduction!r}, not 'mean', 'sum' or 'none'")
    from .reductions import sum as sum_over

    zero = te.const(0, predictions.dtype)

    def chosen(value: Any) -> Any:
        def element(*i: Any) -> Any:
            target = targets(*i)
            is_counted = tir.NE(target, te.const(ignore_index, targets.dtype))
            return te.if_then_else(is_counted, value(target, i), zero)

        return te.compute(targets.shape, element, name="T_nll", tag=INJECTIVE)

    losses = chosen(lambda t, i: zero - predictions(*i[:1], t, *i[1:]) * weights(t))
    if reduction == "none":
        return losses
    total = sum_over(losses)
    if reduction == "sum":
        return total
    weight = sum_over(chosen(lambda t, _: weights(t)))
    return te.compute(total.shape, lambda *i: total(*i) / weight(*i), name="T_nll_mean")
