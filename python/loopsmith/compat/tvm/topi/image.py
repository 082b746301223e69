# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.image``: images in other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopsmith import te, tir
from loopsmith.te.nn.images import interpolate

from ...missing import other_names
from ..tag import INJECTIVE
from .image_grids import affine_grid, grid_sample
from .nn_convolutions import dilation2d_nchw, dilation2d_nhwc
from .nn_pools import windows_of

__all__ = ["affine_grid", "crop_and_resize", "dilation2d_nchw", "dilation2d_nhwc", "grid_sample",
           "resize1d", "resize2d", "resize3d"]  # fmt: skip

_METHODS = {"nearest_neighbor": "nearest", "nearest": "nearest", "linear": "linear",
            "bilinear": "linear", "trilinear": "linear", "cubic": "cubic",
            "bicubic": "cubic"}  # fmt: skip
_TINY = 1e-5  # So that a place computed a little too low is still the same.
_ROUNDINGS: dict[str, Callable[[Any], Any]] = {
    "round": te.round,
    "round_prefer_floor": lambda x: te.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: te.floor(x + 0.5),
    "floor": lambda x: te.floor(x + _TINY),
    "ceil": lambda x: te.ceil(x - _TINY),
}
_COORDINATES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "half_pixel": lambda i, old, new, _: (i + 0.5) * (old / new) - 0.5,
    "align_corners": lambda i, old, new, _: i * ((old - 1) / tir.max(new - 1, 1)),
    "asymmetric": lambda i, old, new, _: i * (old / new),
    "pytorch_half_pixel": lambda i, old, new, _: te.if_then_else(
        new > 1, (i + 0.5) * (old / new) - 0.5, te.const(0.0, "float32")
    ),
    "tf_half_pixel_for_nn": lambda i, old, new, _: (i + 0.5) * (old / new),
    "tf_crop_and_resize": lambda i, old, new, part: te.if_then_else(
        new > 1,
        part[0] * (old - 1) + i * (part[1] - part[0]) * (old - 1) / tir.max(new - 1, 1),
        0.5 * (part[0] + part[1]) * (old - 1),
    ),
}
"""Where an element of the new size lies in the old one, of which a part may be meant."""


def _number(value: Any) -> Any:
    return (
        te.const(value) * te.const(1, "float32")
        if isinstance(value, int)
        else value.astype("float32")
    )


def _resized(
    name: str, data: Any, size: Sequence[Any], layout: str, letters: str, method: str, mode: str,
    rounding: str, alpha: float, outside: float, out_dtype: str | None,
    part: Callable[[Any, int], Any], image: Callable[[Any], Any] = lambda n: n, images: Any = None,
) -> Any:  # fmt: skip
    """Return images in another size; `part` gives what is meant of an image in one direction."""
    rounded = rounding or ("round" if mode == "align_corners" else "floor")
    for what, value, known in (
        ("method", method, _METHODS),
        ("coordinate_transformation_mode", mode, _COORDINATES),
        ("rounding_method", rounded, _ROUNDINGS),
    ):
        if value not in known:
            raise ValueError(f"{name}: {what} is {value!r}, not one of {', '.join(known)}")
    way, is_part = _METHODS[method], mode == "tf_crop_and_resize"
    axes = windows_of(name, layout, letters)
    old = [data.shape[axis] for axis in axes]
    dtype = out_dtype or data.dtype
    kind = data.dtype if "float" in data.dtype else "float32"
    shape = list(data.shape)
    shape[0] = shape[0] if images is None else images
    for axis, extent in zip(axes, size):
        shape[axis] = extent

    def element(*i: Any) -> Any:
        def read(*places: Any) -> Any:
            at = [image(i[0]), *i[1:]]
            for axis, place, extent in zip(axes, places, old):
                at[axis] = tir.max(tir.min(place, extent - 1), 0)
            value = data(*at)
            return value if way == "nearest" else value.astype(kind)

        times = [_factor(had, now) for had, now in zip(old, size)]
        if way == "nearest" and mode == "asymmetric" and rounded == "floor" and all(times):
            # Without numbers that are no integers, which elements are read is known.
            return data(*(
                i[axis] // times[axes.index(axis)] if axis in axes else i[axis]
                for axis in range(len(i))
            )).astype(dtype)  # fmt: skip
        places = [
            _COORDINATES[mode](
                _number(i[axis]), _number(had), _number(now), part(i[0], k) if is_part else None
            )
            for k, (axis, had, now) in enumerate(zip(axes, old, size))
        ]
        value = interpolate(read, places, way, _ROUNDINGS[rounded], alpha).astype(dtype)
        if not is_part:
            return value
        beyond = [side for p, had in zip(places, old) for side in (p < 0, p > _number(had - 1))]
        return te.if_then_else(te.any(*beyond), te.const(outside, dtype), value)

    stage = "resize" if name.startswith("resize") else name
    return te.compute(shape, element, name=stage, tag=INJECTIVE)


def _factor(old: Any, new: Any) -> int | None:
    """Return how often each element is repeated, if that is a constant."""
    constants = [isinstance(extent, (int, tir.IntImm)) for extent in (old, new)]
    is_known = all(constants) and int(new) % int(old) == 0
    return int(new) // int(old) if is_known else None


def _resize(name: str, letters: str, usual_layout: str) -> Callable[..., Any]:
    def resize(
        data: Any, roi: Any, size: Sequence[Any], layout: str = usual_layout,
        method: str = "linear", coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "", bicubic_alpha: float = -0.5, bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0, out_dtype: str | None = None, output_shape: Any = None,
    ) -> Any:  # fmt: skip
        if bicubic_exclude:
            raise ValueError(f"{name}: cubic weights do not leave the border out here")
        count = len(letters)

        def part(_: Any, k: int) -> Any:
            # The last direction is named first.
            return roi[count - 1 - k], roi[2 * count - 1 - k]

        return _resized(
            name, data, output_shape or size, layout, letters, method,
            coordinate_transformation_mode, rounding_method, bicubic_alpha, extrapolation_value,
            out_dtype, part,
        )  # fmt: skip

    resize.__name__ = name
    resize.__doc__ = f"""Return data in layout {usual_layout}, or another one, in another size.

    Raises
    ------
    ValueError
        For methods, coordinates, roundings or layouts that there are not, and cubic weights that
        leave the border out.
    """
    return resize


resize1d = _resize("resize1d", "W", "NCW")
resize2d = _resize("resize2d", "HW", "NCHW")
resize3d = _resize("resize3d", "DHW", "NCDHW")


def crop_and_resize(
    data: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Sequence[int],
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> Any:
    """Return parts of images in one size.

    Parameters
    ----------
    boxes
        Top, left, bottom and right of each part, of 0 to 1.
    box_indices
        Of which image each part is.
    """
    return _resized(
        "crop_and_resize", data, crop_size, layout, "HW", method.lower(), "tf_crop_and_resize",
        "round", -0.5, extrapolation_value or 0.0, out_dtype,
        lambda n, k: (boxes(n, k), boxes(n, k + 2)), lambda n: box_indices(n).astype("int32"),
        box_indices.shape[0],
    )  # fmt: skip


__getattr__ = other_names("tvm.topi.image")
