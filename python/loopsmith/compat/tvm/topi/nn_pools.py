# SPDX-License-Identifier: Apache-2.0
"""Largest elements and means of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir

__all__ = ["adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "global_pool", "pool", "pool1d",
           "pool2d", "pool3d"]  # fmt: skip


def windows_of(name: str, layout: str, letters: str) -> list[int]:
    """Return the axes that windows lie along.

    Raises
    ------
    ValueError
        The layout lacks one, or splits it.
    """
    if any(layout.count(letter) != 1 or letter.lower() in layout for letter in letters):
        raise ValueError(f"{name}: layout {layout} does not have the axes {', '.join(letters)}")
    axes = [letter for letter in layout if letter.isalpha()]
    return [axes.index(letter) for letter in letters]


def elements_of_window(
    data: Any,
    window: Sequence[Any],
    kernel: Sequence[Any],
    stride: Sequence[int],
    dilation: Sequence[int],
    before: Sequence[int],
    axes: Sequence[int],
) -> Any:
    """Return how many elements of a tensor a window has, and 1 of one that has none."""
    total: Any = te.const(1, "int32")
    for axis, size, step, gap, first in zip(axes, kernel, stride, dilation, before):
        start = window[axis] * step - first
        # The first and the last one inside, counted in steps of the window.
        begin = te.floordiv(tir.max(0 - start, 0) + gap - 1, gap)
        end = tir.min(te.floordiv(data.shape[axis] - 1 - start, gap), size - 1)
        total = total * tir.max(end - begin + 1, 0)
    return tir.max(total, 1)


def _pooled(
    name: str,
    data: Any,
    kernel: Sequence[Any],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool,
    axes: Sequence[int],
    count_include_pad: bool,
) -> Any:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"{name}: pool_type is {pool_type!r}, not 'max' or 'avg'")
    from .nn import pad

    count = len(axes)
    before, after = list(padding[:count]), list(padding[count:])
    if ceil_mode:
        after = [high + step - 1 for high, step in zip(after, stride)]
    is_mean = pool_type == "avg"
    lowest: Any = te.min_value(data.dtype)
    low, high = [0] * len(data.shape), [0] * len(data.shape)
    shape: list[Any] = list(data.shape)
    for axis, size, step, gap, first, last in zip(axes, kernel, stride, dilation, before, after):
        low[axis], high[axis] = first, last
        shape[axis] = (data.shape[axis] + first + last - (size - 1) * gap - 1) // step + 1
    wide = pad(data, low, high, 0 if is_mean else lowest.value, "pad_temp")
    over = [te.reduce_axis((0, size), name=f"rv{i}") for i, size in enumerate(kernel)]
    reducer = te.sum if is_mean else te.max

    def element(*i: Any) -> Any:
        place = list(i)
        for axis, k, step, gap in zip(axes, over, stride, dilation):
            place[axis] = i[axis] * step + k * gap
        return reducer(wide(*place), axis=over)

    names = ("pool_sum", "pool_avg") if is_mean else ("pool_max", "")
    pooled = te.compute(shape, element, name=names[0], tag=f"pool_{pool_type}")
    if not is_mean:
        return pooled

    def mean(*i: Any) -> Any:
        size: Any = te.const(1, "int32")
        for extent in kernel:
            size = size * extent
        inside = elements_of_window(data, i, kernel, stride, dilation, before, axes)
        number = size if count_include_pad else inside
        return pooled(*i) / number.astype(data.dtype)

    return te.compute(shape, mean, name=names[1], tag="elemwise")


def pool2d(
    data: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Any:
    """Return the largest elements, or the means, of windows of images.

    `padding` is (top, left, bottom, right); with `ceil_mode`, the last windows may reach beyond it.
    """
    axes = windows_of("pool2d", layout, "HW")
    return _pooled("pool2d", data, kernel, stride, dilation, padding, pool_type, ceil_mode, axes,
                   count_include_pad)  # fmt: skip


def pool(
    data: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Any:
    """Return `pool2d` of neighbouring elements, as programs before 0.8 call it."""
    return pool2d(data, kernel, stride, (1, 1), padding, pool_type, ceil_mode, layout,
                  count_include_pad)  # fmt: skip


def pool1d(
    data: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Any:
    """Return the largest elements, or the means, of windows of rows; see `pool2d`."""
    size, step, gap = (
        [each] if isinstance(each, int) else each for each in (kernel, stride, dilation)
    )
    axes = windows_of("pool1d", layout, "W")
    return _pooled("pool1d", data, size, step, gap, padding, pool_type, ceil_mode, axes,
                   count_include_pad)  # fmt: skip


def pool3d(
    data: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Any:
    """Return the largest elements, or the means, of windows of volumes; see `pool2d`."""
    axes = windows_of("pool3d", layout, "DHW")
    return _pooled("pool3d", data, kernel, stride, dilation, padding, pool_type, ceil_mode, axes,
                   count_include_pad)  # fmt: skip


def global_pool(data: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Return the largest element, or the mean, of each channel of images."""
    axes = windows_of("global_pool", layout, "HW")
    size = tuple(data.shape[axis] for axis in axes)
    return pool2d(data, size, (1, 1), (1, 1), (0, 0, 0, 0), pool_type, layout=layout)


def adaptive_pool1d(data: Any, output_size: Any, pool_type: str, layout: str = "NCW") -> Any:
    """Return the largest elements, or the means, of so many parts of rows."""
    count = [output_size] if isinstance(output_size, int) else output_size
    return _adaptive("adaptive_pool1d", data, count, pool_type, layout, "W")


def adaptive_pool(
    data: Any, output_size: Sequence[int], pool_type: str, layout: str = "NCHW"
) -> Any:
    """Return the largest elements, or the means, of parts of images, so many in each direction."""
    return _adaptive("adaptive_pool", data, output_size, pool_type, layout, "HW")


def adaptive_pool3d(
    data: Any, output_size: Sequence[int], pool_type: str, layout: str = "NCDHW"
) -> Any:
    """Return the largest elements, or the means, of parts of volumes; see `adaptive_pool`."""
    return _adaptive("adaptive_pool3d", data, output_size, pool_type, layout, "DHW")


def _adaptive(
    name: str, data: Any, output_size: Sequence[int], pool_type: str, layout: str, letters: str
) -> Any:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"{name}: pool_type is {pool_type!r}, not 'max' or 'avg'")
    axes = windows_of(name, layout, letters)
    shape: list[Any] = list(data.shape)
    over: list[Any] = []
    for axis, count in zip(axes, output_size):
        shape[axis] = count
        longest = (data.shape[axis] + count - 1) // count + 1
        over.append(te.reduce_axis((0, longest), name=f"rv{len(over)}"))
    is_mean = pool_type == "avg"
    neutral = te.const(0, data.dtype) if is_mean else te.min_value(data.dtype)
    reducer = te.sum if is_mean else te.max

    def ends(axis: int, i: Any, count: int) -> tuple[Any, Any]:
        extent = data.shape[axis]
        return i * extent // count, ((i + 1) * extent + count - 1) // count

    def element(*i: Any) -> Any:
        place, inside = list(i), []
        for axis, k, count in zip(axes, over, output_size):
            start, end = ends(axis, i[axis], count)
            place[axis] = start + k
            inside.append(place[axis] < end)
        return reducer(te.if_then_else(te.all(*inside), data(*place), neutral), axis=over)

    stage = f"adaptive_pool_{'sum' if is_mean else 'max'}"
    pooled = te.compute(shape, element, name=stage, tag=f"adaptive_pool_{pool_type}")
    if not is_mean:
        return pooled

    def mean(*i: Any) -> Any:
        size: Any = te.const(1, "int32")
        for axis, count in zip(axes, output_size):
            start, end = ends(axis, i[axis], count)
            size = size * (end - start)
        return pooled(*i) / size.astype(data.dtype)

    return te.compute(shape, mean, name="adaptive_pool_avg", tag="elemwise")
