# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.image``: images in another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import te

from ...missing import other_names
from .shapes import transpose

__all__ = ["resize2d"]

_METHODS = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
_ROUNDINGS = {
    ("half_pixel", "round_prefer_floor"),
    ("align_corners", "round_prefer_ceil"),
    ("asymmetric", "floor"),
}


def resize2d(
    data: Any,
    roi: Any,
    size: Sequence[Any],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    output_shape: Any = None,
) -> Any:
    """Return images of layout NCHW or NHWC in another size.

    Raises
    ------
    ValueError
        For regions of interest, weights that leave the border out, and roundings or layouts other
        than the usual ones.
    """
    if coordinate_transformation_mode == "tf_crop_and_resize" or bicubic_exclude:
        raise ValueError("resize2d: whole images are resized here, their border included")
    usual = ("", "round") if coordinate_transformation_mode != "asymmetric" else ("",)
    is_known = (coordinate_transformation_mode, rounding_method) in _ROUNDINGS
    if method == "nearest_neighbor" and rounding_method not in usual and not is_known:
        raise ValueError(
            f"resize2d: {rounding_method!r} is not how {coordinate_transformation_mode} rounds here"
        )
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"resize2d: there is no layout {layout}, NCHW and NHWC are known")
    last = layout == "NHWC"
    images = transpose(data, [0, 3, 1, 2]) if last else data
    made = te.nn.resize2d(
        images,
        (size[0], size[1]),
        _METHODS.get(method, method),
        coordinate_transformation_mode,
        bicubic_alpha,
    )
    if out_dtype and out_dtype != made.dtype:
        source = made
        made = te.compute(source.shape, lambda *i: source(*i).astype(out_dtype), name="T_cast")
    return transpose(made, [0, 2, 3, 1]) if last else made


__getattr__ = other_names("tvm.topi.image")
