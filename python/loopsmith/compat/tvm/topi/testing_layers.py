# SPDX-License-Identifier: Apache-2.0
"""Layers, and images read at computed places, as arrays of NumPy, to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["affine_grid_python", "crop_and_resize_python", "grid_sample_python", "lstm_python",
           "pool_grad_nchw"]  # fmt: skip


def pool_grad_nchw(
    a_np: Any,
    out_grad_np: Any,
    pool_size: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Any:
    """Return the derivative of what depends on windows of images, by the images."""
    high, wide = a_np.shape[2:]
    made = np.zeros_like(a_np)
    for n, c, row, column in np.ndindex(*out_grad_np.shape):
        top, left = row * strides[0] - padding[0], column * strides[1] - padding[1]
        rows = range(max(top, 0), min(top + pool_size[0], high))
        columns = range(max(left, 0), min(left + pool_size[1], wide))
        window = [(y, x) for y in rows for x in columns]
        if not window:
            continue
        share = out_grad_np[n, c, row, column]
        if pool_type == "max":
            window = [max(window, key=lambda place: a_np[n, c, place[0], place[1]])]
        else:
            share = share / (pool_size[0] * pool_size[1] if count_include_pad else len(window))
        for y, x in window:
            made[n, c, y, x] += share
    return made


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}


def lstm_python(
    Xs: Any,
    Wi: Any,
    Wh: Any,
    Bi: Any = None,
    Bh: Any = None,
    h_init: Any = None,
    c_init: Any = None,
    proj: Any = None,
    p_i: Any = None,
    p_f: Any = None,
    p_o: Any = None,
    f_act: str = "sigmoid",
    g_act: str = "tanh",
    h_act: str = "tanh",
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Any, Any]:
    """Return the hidden states and the cell states of a long short-term memory."""
    at_gates, at_new, at_cell = (_FUNCTIONS[name] for name in (f_act, g_act, h_act))
    batch = Xs.shape[1]
    h = np.zeros((batch, Wh.shape[1]), Xs.dtype) if h_init is None else h_init
    c = np.zeros((batch, Wi.shape[0] // 4), Xs.dtype) if c_init is None else c_init
    hidden, cells = [], []
    for x in Xs[::-1] if reverse else Xs:
        sums = x @ Wi.T + h @ Wh.T
        for bias in (Bi, Bh):
            sums = sums if bias is None else sums + bias
        gates = dict(zip(weight_layout, np.split(sums, 4, axis=1)))
        taken = at_gates(gates["I"] if p_i is None else gates["I"] + p_i * c)
        kept = at_gates(gates["F"] if p_f is None else gates["F"] + p_f * c)
        c = kept * c + taken * at_new(gates["G"])
        h = at_gates(gates["O"] if p_o is None else gates["O"] + p_o * c) * at_cell(c)
        h = h if proj is None else h @ proj.T
        hidden.append(h)
        cells.append(c)
    return np.stack(hidden), np.stack(cells)


def affine_grid_python(data: Any, target_shape: Sequence[int]) -> Any:
    """Return where affine maps take the points of a grid from -1 to 1, columns before rows."""
    places = np.meshgrid(*(np.linspace(-1, 1, extent) for extent in target_shape), indexing="ij")
    points = np.stack([*places[::-1], np.ones(target_shape)])
    return np.einsum("nij,j...->ni...", data, points)


def _read(image: Any, places: Sequence[Any], method: str, outside: Callable[..., Any]) -> Any:
    """Return an image of channels read at places, each an array for one dimension.

    `outside` says which elements stand for those at whole places, and how much of them counts.
    """
    starts = [np.floor(place).astype(int) for place in places]
    taps = {"nearest": 1, "bilinear": 2, "bicubic": 4}[method]
    made: Any = 0
    for steps in np.ndindex(*[taps] * len(places)):
        weight, whole = 1.0, []
        for place, start, step in zip(places, starts, steps):
            if method == "nearest":
                whole.append(np.rint(place).astype(int))
                continue
            at = start + step - (method == "bicubic")
            away = np.abs(place - at)
            weight = weight * (np.maximum(1 - away, 0) if method == "bilinear" else _cubic(away))
            whole.append(at)
        inside, share = outside(whole)
        made = made + weight * share * image[(slice(None), *inside)]
    return made


def _cubic(away: Any) -> Any:
    """Return what an element so far away counts, of cubic polynomials with slope -0.75."""
    a = -0.75
    near = ((a + 2) * away - (a + 3)) * away * away + 1
    far = ((away - 5) * away + 8) * away * a - 4 * a
    return np.where(away <= 1, near, np.where(away < 2, far, 0))


def grid_sample_python(
    data: Any,
    grid: Any,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Any:
    """Return images read where a grid says, of places from -1 to 1, columns before rows."""
    extents = data.shape[2:]
    edge = 0 if align_corners else 0.5
    places = [
        (grid[:, len(extents) - 1 - k] + 1) * (extent - 1 + 2 * edge) / 2 - edge
        for k, extent in enumerate(extents)
    ]

    def moved_inside(place: Any, extent: int) -> Any:
        if padding_mode == "reflection":
            low, length = -edge, extent - 1 + 2 * edge
            along = np.mod(place - low, 2 * max(length, 0.5))
            place = low + np.minimum(along, 2 * length - along)
        return np.clip(place, 0, extent - 1)

    def outside(whole: Sequence[Any]) -> tuple[Any, Any]:
        if padding_mode == "zeros":
            there: Any = True
            for at, extent in zip(whole, extents):
                there = there & (at >= 0) & (at < extent)
        else:
            there = True
        inside = [moved_inside(at, extent).astype(int) for at, extent in zip(whole, extents)]
        return inside, there

    if padding_mode != "zeros" and method != "bicubic":
        places = [moved_inside(place, extent) for place, extent in zip(places, extents)]
    images = [
        _read(image, [place[n] for place in places], method, outside)
        for n, image in enumerate(data)
    ]
    return np.stack(images).astype(data.dtype)


def crop_and_resize_python(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Sequence[int],
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:
    """Return parts of images in one size; beyond the images there is `extrapolation_value`."""
    data = image if layout == "NCHW" else np.moveaxis(image, -1, 1)
    extents = data.shape[2:]
    made = []
    for box, which in zip(boxes, box_indices):
        lines = []
        for k, (extent, count) in enumerate(zip(extents, crop_size)):
            low, high = box[k] * (extent - 1), box[k + 2] * (extent - 1)
            lines.append(np.linspace(low, high, count) if count > 1 else [(low + high) / 2])
        places = np.meshgrid(*lines, indexing="ij")
        there: Any = True
        for place, extent in zip(places, extents):
            there = there & (place >= 0) & (place <= extent - 1)

        def clipped(whole: Sequence[Any]) -> tuple[Any, Any]:
            return [np.clip(at, 0, extent - 1) for at, extent in zip(whole, extents)], 1.0

        name = "nearest" if method.startswith("nearest") else method
        made.append(np.where(there, _read(data[which], places, name, clipped), extrapolation_value))
    result = np.stack(made).astype(image.dtype)
    return result if layout == "NCHW" else np.moveaxis(result, 1, -1)
