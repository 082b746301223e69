# SPDX-License-Identifier: Apache-2.0
"""Images read at places that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te, tir
from loopsmith.te.nn.images import interpolate

__all__ = ["affine_grid", "grid_sample"]

_METHODS = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}


def affine_grid(data: Any, target_shape: Sequence[int], align_corners: bool = True) -> Any:
    """Return where an affine map takes the points of a grid from -1 to 1.

    Parameters
    ----------
    data
        The maps: of shape (images, 2, 3), or (images, 3, 4) for volumes.
    target_shape
        The extents of the grid.
    align_corners
        Whether -1 and 1 are the outermost points, or the edges around them.
    """
    rank, dtype = len(target_shape), data.dtype
    if align_corners:
        ways = [(-1.0, (2.0 - 1e-7) / (extent - 1)) for extent in target_shape]
    else:
        ways = [(1.0 / extent - 1.0, 2.0 / extent) for extent in target_shape]

    def element(n: Any, dimension: Any, *at: Any) -> Any:
        value = data[n, dimension, rank]
        for k, (i, (start, step)) in enumerate(zip(at, ways)):
            place = te.const(start, dtype) + i.astype(dtype) * te.const(step, dtype)
            value = value + data[n, dimension, rank - 1 - k] * place
        return value

    shape = (data.shape[0], rank, *target_shape)
    return te.compute(shape, element, name="affine_grid", tag="affine_grid")


def grid_sample(
    data: Any,
    grid: Any,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Any:
    """Return images read where a grid says, of places from -1 to 1.

    Parameters
    ----------
    data, grid
        Of shapes (images, channels, height, width) and (images, 2, rows, columns), with columns
        before rows in the grid; or of volumes with one more dimension each.
    padding_mode
        ``"zeros"``, ``"border"`` or ``"reflection"``: what lies outside.
    align_corners
        Whether -1 and 1 are the outermost elements, or their edges.

    Raises
    ------
    ValueError
        For another method, mode or layout.
    """
    for what, value, known in (
        ("method", method, tuple(_METHODS)),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
        ("layout", layout, ("NCHW", "NCDHW")),
    ):
        if value not in known:
            raise ValueError(f"grid_sample: {what} is {value!r}, not one of {', '.join(known)}")
    n, channels, *old = data.shape
    rank, way = len(old), _METHODS[method]

    def position(value: Any, extent: Any) -> Any:
        if align_corners:
            return (value + 1) * (extent - 1) / 2
        return (value + 1) * extent / 2 - 0.5

    def reflected(x: Any, extent: Any) -> Any:
        """Return a place inside: beyond the ends, the way back is counted."""
        start = 0.0 if align_corners else -0.5
        length = extent - 1 if align_corners else extent
        # There and back again, and so on.
        way_along = te.fmod(te.abs(x - start), tir.max(length * 2, 1).astype(x.dtype))
        return length - te.abs(way_along - length) + start

    def inside(x: Any, extent: Any) -> Any:
        if padding_mode == "zeros":
            return x
        known = reflected(x.astype(data.dtype), extent) if padding_mode == "reflection" else x
        return tir.min(tir.max(known, te.const(0, known.dtype)), (extent - 1).astype(known.dtype))

    def element(image: Any, channel: Any, *at: Any) -> Any:
        def read(*places: Any) -> Any:
            if way == "cubic":
                places = tuple(inside(p, extent).astype("int32") for p, extent in zip(places, old))
            there = [side for p, extent in zip(places, old) for side in (p >= 0, p < extent)]
            return te.if_then_else(
                te.all(*there), data(image, channel, *places), te.const(0, data.dtype)
            )

        positions = [position(grid(image, rank - 1 - k, *at), old[k]) for k in range(rank)]
        if way != "cubic":
            positions = [inside(p, extent) for p, extent in zip(positions, old)]
        return interpolate(read, positions, way, te.nearbyint, -0.75)

    shape = (n, channels, *grid.shape[2:])
    return te.compute(shape, element, name="grid_sample", tag="grid_sample")
