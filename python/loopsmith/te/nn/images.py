# SPDX-License-Identifier: Apache-2.0
"""Images: in another size, and norms of groups of channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ...argument_errors import explained
from ..operations import compute
from ..reducers import sum as sum_of
from .dimensions import Pair, pair, require_same_extent

__all__ = ["conv2d_transpose", "group_norm", "resize2d"]


@explained
def conv2d_transpose(
    x: Tensor, weight: Tensor, stride: Pair = 1, padding: Pair = 0, output_padding: Pair = 0
) -> Tensor:
    """Return the gradient of a convolution by its input: images, each element spread by weights.

    Parameters
    ----------
    x
        Of shape (images, channels, height, width).
    weight
        Of shape (channels, new channels, height, width).
    stride, padding
        Of the convolution, of both directions or (vertical, horizontal).
    output_padding
        How many rows and columns more the result has, at its end.
    """
    (sy, sx), (py, px), (ey, ex) = pair(stride), pair(padding), pair(output_padding)
    n, c, h, w = x.shape
    channels, made, kh, kw = weight.shape
    require_same_extent(
        "conv2d_transpose",
        f"the number of channels of {x.name}",
        c,
        f"that of {weight.name}",
        channels,
    )
    zero = _core.const(0, x.dtype)
    height, width = (h - 1) * sy + kh - 2 * py + ey, (w - 1) * sx + kw - 2 * px + ex
    # Row y of the result takes rows k of the weights with k = y + py modulo sy, and row
    # (y + py - k) / sy of the image: for each residue of y, a convolution without strides.
    rows, columns = -(-kh // sy), -(-kw // sx)

    def bordered(image: Any, channel: Any, y: Any, column: Any) -> Any:
        row, at = y - (rows - 1), column - (columns - 1)
        is_there = _core.all(row >= 0, row < h, at >= 0, at < w)
        return _core.if_then_else(is_there, x[image, channel, row, at], zero)

    parts_high, parts_wide = _core.ceildiv(height, sy), _core.ceildiv(width, sx)
    wide = compute(
        (
            n,
            c,
            parts_high + (sy - 1 + py) // sy + rows - 1,
            parts_wide + (sx - 1 + px) // sx + columns - 1,
        ),
        bordered,
        name=f"{x.name}_padded",
    )
    rc = _core.te_reduce_axis(0, c, "rc")
    ry, rx = _core.te_reduce_axis(0, rows, "ry"), _core.te_reduce_axis(0, columns, "rx")

    # Residues whose weights have a row less get one of zeros.
    taps = weight
    if kh % sy or kw % sx:
        taps = compute(
            (channels, made, rows * sy, columns * sx),
            lambda old, new, y, column: _core.if_then_else(
                _core.all(y < kh, column < kw), weight[old, new, y, column], zero
            ),
            name=f"{weight.name}_padded",
        )

    def weight_at(channel: Any, y: Any, column: Any) -> Any:
        row = (rows - 1 - ry) * sy + _core.floormod(y + py, sy)
        at = (columns - 1 - rx) * sx + _core.floormod(column + px, sx)
        return taps[rc, channel, row, at]

    def element(image: Any, y: Any, column: Any, channel: Any, high: Any, far: Any) -> Any:
        row, at = high + _core.floordiv(y + py, sy) + ry, far + _core.floordiv(column + px, sx) + rx
        return sum_of(wide[image, rc, row, at] * weight_at(channel, y, column), axis=[rc, ry, rx])

    if sy == sx == 1:
        return compute(
            (n, made, height, width),
            lambda image, channel, y, column: element(image, 0, 0, channel, y, column),
            name="conv2d_transpose",
        )
    parts = compute(
        (n, sy, sx, made, parts_high, parts_wide), element, name="conv2d_transpose_parts"
    )
    return compute(
        (n, made, height, width),
        lambda image, channel, y, column: parts[
            image,
            _core.floormod(y, sy),
            _core.floormod(column, sx),
            channel,
            _core.floordiv(y, sy),
            _core.floordiv(column, sx),
        ],
        name="conv2d_transpose",
    )


@explained
def group_norm(
    x: Tensor, scale: Tensor, shift: Tensor, groups: int, epsilon: float = 1e-5
) -> Tensor:
    """Return images whose groups of channels have mean 0 and variance 1, scaled and shifted.

    Parameters
    ----------
    x
        Of shape (images, channels, ...).
    scale, shift
        Of shape (channels,).
    groups
        Into how many groups of neighbours the channels are divided, without rest.
    """
    n, c, *sizes = list(x.shape)
    if isinstance(c, _core.IntImm) and int(c) % groups:
        _core.fail(
            "TypeMismatch",
            "groups_divide_channels",
            f"group_norm: {x.name} has {c} channels, no multiple of {groups} groups",
            hint="take a divisor",
        )
    each = c // groups
    count: Any = each
    for size in sizes:
        count = count * size

    def summed(name: str, term: Callable[..., Any]) -> Tensor:
        channel = _core.te_reduce_axis(0, each, "kc")
        over = [_core.te_reduce_axis(0, size, f"k{i}") for i, size in enumerate(sizes)]
        return compute(
            (n, groups),
            lambda image, group: sum_of(
                term(image, group, (image, group * each + channel, *over)), axis=[channel, *over]
            ),
            name=f"{x.name}_{name}",
        )

    number = _core.const(count).astype(x.dtype)
    totals = summed("group_sum", lambda image, group, at: x[at])
    average = compute(totals.shape, lambda *i: totals[i] / number, name=f"{x.name}_group_mean")
    squares = summed(
        "group_squares",
        lambda image, group, at: (x[at] - average[image, group]) * (x[at] - average[image, group]),
    )
    tiny = _core.const(epsilon, x.dtype)

    def element(image: Any, channel: Any, *place: Any) -> Any:
        group = channel // each
        factor = _core.rsqrt(squares[image, group] / number + tiny)
        centred = x[(image, channel, *place)] - average[image, group]
        return centred * factor * scale[channel] + shift[channel]

    return compute(x.shape, element, name=f"{x.name}_group_norm")


# Where an element of the new size lies in the old one.
_COORDINATES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "half_pixel": lambda i, old, new: (i + 0.5) * (old / new) - 0.5,
    "asymmetric": lambda i, old, new: i * (old / new),
    "align_corners": lambda i, old, new: i * ((old - 1) / _core.max(new - 1, 1)),
}


def _cubic(distance: Any, alpha: float) -> Any:
    """Return the weight of an element so far away, less than 2.

    R. Keys, Cubic convolution interpolation for digital image processing, 1981.
    """
    d: Any = _core.abs(distance)
    near = ((alpha + 2) * d - (alpha + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * alpha - 4 * alpha
    return _core.select(d < 1, near, far)


# Of two elements that are as near, the first with areas, the second with points.
_NEAREST: dict[str, Callable[[Any], Any]] = {
    "half_pixel": lambda position: _core.ceil(position - 0.5),
    "asymmetric": _core.floor,
    "align_corners": lambda position: _core.floor(position + 0.5),
}


def interpolate(
    read: Callable[..., Any],
    positions: Sequence[Any],
    method: str,
    nearest: Callable[[Any], Any] = _core.floor,
    cubic_alpha: float = -0.5,
) -> Any:
    """Return the value of an array between its elements.

    Parameters
    ----------
    read
        Gives the element at integer places, one for each dimension, which may lie outside.
    positions
        Where the value lies, one number for each dimension.
    method
        ``"nearest"``, ``"linear"`` or ``"cubic"``.
    nearest
        How a position is rounded, for the first of them.
    """
    if method == "nearest":
        return read(*(nearest(position).astype("int32") for position in positions))

    def taps(position: Any) -> list[tuple[Any, Any]]:
        first: Any = _core.floor(position)
        place: Any = first.astype("int32")
        part = position - first
        if method == "linear":
            return [(place, 1 - part), (place + 1, part)]
        return [(place + k, _cubic(part - k, cubic_alpha)) for k in (-1, 0, 1, 2)]

    each = [taps(position) for position in positions]

    def along(dimension: int, places: tuple[Any, ...]) -> Any:
        if dimension == len(each):
            return read(*places)
        total: Any = None
        for place, weight in each[dimension]:
            term = along(dimension + 1, (*places, place)) * weight
            total = term if total is None else total + term
        return total

    return along(0, ())


@explained
def resize2d(
    x: Tensor,
    size: tuple[Any, Any],
    method: str = "linear",
    coordinates: str = "half_pixel",
    cubic_alpha: float = -0.5,
) -> Tensor:
    """Return images of shape (images, channels, height, width) in another size.

    Parameters
    ----------
    size
        The new (height, width).
    method
        ``"nearest"``, ``"linear"`` or ``"cubic"``. What lies outside is the nearest element.
    coordinates
        ``"half_pixel"``: pixels are areas, and the areas of images are the same;
        ``"align_corners"``: pixels are points, and the outermost ones the same; ``"asymmetric"``:
        pixels are points, and the first ones the same.
    cubic_alpha
        The slope of cubic weights at a distance of 1.

    Raises
    ------
    FormatError
        For a method, or coordinates, that there are not.
    """
    for what, value, known in (
        ("method", method, ("nearest", "linear", "cubic")),
        ("coordinates", coordinates, tuple(_COORDINATES)),
    ):
        if value not in known:
            _core.fail(
                "FormatError",
                "way_is_known",
                f"resize2d: {what} is {value!r}",
                hint=f"take one of {', '.join(known)}",
            )
    n, c, *old = list(x.shape)
    kind = x.dtype if "float" in x.dtype else "float32"

    def number(value: Any) -> Any:
        return _core.const(value).astype(kind)

    def positions(places: Sequence[Any]) -> list[Any]:
        way = _COORDINATES[coordinates]
        return [way(number(i), number(had), number(new)) for i, had, new in zip(places, old, size)]

    def element(image: Any, channel: Any, *places: Any) -> Any:
        def read(*at: Any) -> Any:
            inside = [_core.max(_core.min(i, had - 1), 0) for i, had in zip(at, old)]
            value: Any = x[(image, channel, *inside)]
            return value if method == "nearest" else value.astype(kind)

        value = interpolate(read, positions(places), method, _NEAREST[coordinates], cubic_alpha)
        return value if method == "nearest" else value.astype(x.dtype)

    return compute((n, c, *size), element, name=f"{x.name}_resized")
