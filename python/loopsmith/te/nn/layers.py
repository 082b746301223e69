# SPDX-License-Identifier: Apache-2.0
"""Reductions, shapes, products, pooling and norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ...argument_errors import explained
from ..operations import compute
from ..reducers import Reducer, comm_reducer
from ..reducers import max as max_of
from ..reducers import min as min_of
from ..reducers import prod as prod_of
from ..reducers import sum as sum_of
from .dimensions import Axes, Pair
from .dimensions import pair as _pair
from .dimensions import positions as _positions
from .dimensions import product as _product
from .dimensions import require_same_extent as _same_extent

__all__ = [
    "argmax",
    "argmin",
    "avg_pool2d",
    "conv2d",
    "gelu",
    "layer_norm",
    "matmul",
    "max",
    "max_pool2d",
    "mean",
    "min",
    "pad",
    "prod",
    "relu",
    "reshape",
    "rms_norm",
    "sliced",
    "softmax",
    "sum",
    "transpose",
]


# ---- Reductions ----


def _reduced(name: str, reducer: Reducer, x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    places = _positions(name, x, axis)
    over = {i: _core.te_reduce_axis(0, x.shape[i], f"k{i}") for i in places}
    kept = [i for i in range(x.ndim) if i not in over]
    shape = [1 if i in over else x.shape[i] for i in range(x.ndim)]
    if not keepdims:
        shape = [x.shape[i] for i in kept]

    def element(*indices: Any) -> Any:
        rest = dict(zip(range(x.ndim) if keepdims else kept, indices))
        return reducer(
            x[tuple(over.get(i, rest.get(i)) for i in range(x.ndim))], axis=list(over.values())
        )

    return compute(shape, element, name=f"{x.name}_{name}")


@explained
def sum(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the sums over dimensions."""
    return _reduced("sum", sum_of, x, axis, keepdims)


@explained
def prod(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the products over dimensions."""
    return _reduced("prod", prod_of, x, axis, keepdims)


@explained
def max(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the largest elements over dimensions."""
    return _reduced("max", max_of, x, axis, keepdims)


@explained
def min(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the smallest elements over dimensions."""
    return _reduced("min", min_of, x, axis, keepdims)


@explained
def mean(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the means over dimensions."""
    total = _reduced("sum", sum_of, x, axis, keepdims)
    count: Any = 1
    for i in _positions("mean", x, axis):
        count = x.shape[i] * count
    return compute(
        total.shape, lambda *i: total[i] / _core.const(count).astype(x.dtype), name=f"{x.name}_mean"
    )


def _first_of(is_better: Callable[[Any, Any], Any], limit: Callable[[str], Any], name: str) -> Any:
    """Return the reducer of pairs (place, value) that keeps the first of the best values."""

    def combine(x: Any, y: Any) -> tuple[Any, Any]:
        # Among equal values, the smaller place: so the order does not matter.
        is_first = _core.any(is_better(x[1], y[1]), _core.all(x[1] == y[1], x[0] < y[0]))
        return _core.select(is_first, x[0], y[0]), _core.select(is_first, x[1], y[1])

    return comm_reducer(combine, lambda i, v: (_core.max_value(i), limit(v)), name)


def _arg(name: str, reducer: Any, x: Tensor, axis: int) -> Tensor:
    (place,) = _positions(name, x, axis)
    k = _core.te_reduce_axis(0, x.shape[place], "k")
    shape = [x.shape[i] for i in range(x.ndim) if i != place]

    def element(*indices: Any) -> Any:
        at = (*indices[:place], k, *indices[place:])
        return reducer((k.var.astype("int64"), x[at]), axis=k)

    places: Any = compute(shape, element, name=f"{x.name}_{name}")
    first: Tensor = places[0]
    return first


@explained
def argmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the places of the largest elements along a dimension, the first of equal ones."""
    return _arg("argmax", _first_of(lambda a, b: a > b, _core.min_value, "argmax"), x, axis)


@explained
def argmin(x: Tensor, axis: int = -1) -> Tensor:
    """Return the places of the smallest elements along a dimension, the first of equal ones."""
    return _arg("argmin", _first_of(lambda a, b: a < b, _core.max_value, "argmin"), x, axis)


# ---- Shapes ----


@explained
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Return the tensor with its dimensions in the order `axes`; reversed, without."""
    order = list(range(x.ndim))[::-1] if axes is None else [int(i) for i in axes]
    if sorted(i % x.ndim if x.ndim else i for i in order) != list(range(x.ndim)):
        _core.fail(
            "BoundsError",
            "axes_are_a_permutation",
            f"transpose: {order} is no order of the {x.ndim} dimensions of {x.name}",
            hint="name each dimension once",
        )
    order = [i % x.ndim for i in order]

    def element(*indices: Any) -> Any:
        return x[tuple(indices[order.index(i)] for i in range(x.ndim))]

    return compute([x.shape[i] for i in order], element, name=f"{x.name}_transposed")


@explained
def reshape(x: Tensor, shape: Any) -> Tensor:
    """Return the elements in row-major order in another shape."""
    sizes = [shape] if isinstance(shape, int) else list(shape)
    before, after = _product(x.shape), _product(sizes)
    _same_extent(
        "reshape",
        f"the number of elements of {x.name}",
        _core.const(before),
        "that of the new shape",
        _core.const(after),
    )

    def element(*indices: Any) -> Any:
        flat: Any = 0
        for index, extent in zip(indices, sizes):
            flat = flat * extent + index
        place = []
        for extent in reversed(list(x.shape)):
            place.append(flat % extent)
            flat = flat // extent
        return x[tuple(reversed(place))]

    return compute(sizes, element, name=f"{x.name}_reshaped")


@explained
def sliced(x: Tensor, index: Any) -> Tensor:
    """Return ``x[index]`` for slices, an ellipsis and integers, as NumPy takes them."""
    given = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [each for each in given if each is Ellipsis]:
        at = next(i for i, each in enumerate(given) if each is Ellipsis)
        rest = x.ndim - len(given) + 1
        given[at : at + 1] = [slice(None)] * rest
    given += [slice(None)] * (x.ndim - len(given))
    if len(given) > x.ndim:
        _core.fail(
            "BoundsError",
            "index_has_dimensions",
            f"{x.name} has {x.ndim} dimensions, and {len(given)} indices are given",
            hint="leave out the last ones",
        )
    parts = [
        _range_of(x, each, i) if isinstance(each, slice) else each for i, each in enumerate(given)
    ]
    shape = [part[2] for part in parts if isinstance(part, tuple)]

    def element(*indices: Any) -> Any:
        rest = iter(indices)
        return x[
            tuple(
                part[0] + next(rest) * part[1] if isinstance(part, tuple) else part
                for part in parts
            )
        ]

    return compute(shape, element, name=f"{x.name}_slice")


def _range_of(x: Tensor, part: slice, dimension: int) -> tuple[Any, int, Any]:
    """Return where a slice begins, its step, and how many elements it has."""
    extent = x.shape[dimension]
    if isinstance(extent, _core.IntImm):
        known = range(*part.indices(int(extent)))
        return known.start, known.step, len(known)
    step: Any = 1 if part.step is None else part.step
    if step != 1:
        _core.fail(
            "TypeMismatch",
            "slice_has_step_one",
            f"{x.name}: a slice of a dimension of size {extent} has step {step}",
            hint="write the elements with te.compute",
        )
    begin: Any = 0 if part.start is None else part.start
    end = extent if part.stop is None else part.stop
    begin, end = (extent + at if isinstance(at, int) and at < 0 else at for at in (begin, end))
    return begin, 1, end - begin


@explained
def pad(x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Tensor:
    """Return the tensor with so many elements of `value` before and after it in each dimension."""
    for sizes in (before, after):
        if len(sizes) != x.ndim:
            _core.fail(
                "TypeMismatch",
                "padding_has_dimensions",
                f"pad: {len(sizes)} sizes for the {x.ndim} dimensions of {x.name}",
                hint="give one for each dimension",
            )
    shape = [extent + low + high for extent, low, high in zip(x.shape, before, after)]
    fill = _core.const(value, x.dtype)

    def element(*indices: Any) -> Any:
        place = tuple(i - low for i, low in zip(indices, before))
        inside = [
            condition
            for at, extent, low, high in zip(place, x.shape, before, after)
            for condition in ([at >= 0] if low else []) + ([at < extent] if high else [])
        ]
        if not inside:
            return x[place]
        return _core.if_then_else(_core.all(*inside), x[place], fill)

    return compute(shape, element, name=f"{x.name}_padded")


# ---- Products ----


@explained
def matmul(a: Tensor, b: Tensor, dtype: str | None = None) -> Tensor:
    """Return ``a @ b`` over the last two dimensions; those before them are equal.

    Parameters
    ----------
    a, b
        Of shapes (..., n, k) and (..., k, m).
    dtype
        In what the products are summed; by default, in that of `a`.
    """
    if a.ndim < 2 or b.ndim not in (2, a.ndim):
        _core.fail(
            "TypeMismatch",
            "operands_are_matrices",
            f"matmul: {a.name} has {a.ndim} dimensions, and {b.name} has {b.ndim}",
            hint="give (..., n, k) and (..., k, m), or (k, m)",
        )
    _same_extent(
        "matmul",
        f"the last extent of {a.name}",
        a.shape[-1],
        f"the last but one of {b.name}",
        b.shape[-2],
    )
    k = _core.te_reduce_axis(0, a.shape[-1], "k")
    kind = dtype or a.dtype

    def element(*indices: Any) -> Any:
        *outer, i, j = indices
        left, right = a[(*outer, i, k)], b[(*(outer if b.ndim == a.ndim else ()), k, j)]
        return sum_of(left.astype(kind) * right.astype(kind), axis=k)

    return compute([*list(a.shape)[:-1], b.shape[-1]], element, name="matmul")


@explained
def conv2d(
    x: Tensor,
    weight: Tensor,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Return the convolution of images.

    Parameters
    ----------
    x
        Of shape (images, channels, height, width).
    weight
        Of shape (new channels, channels / groups, height, width).
    stride, padding, dilation
        Of both directions, or (vertical, horizontal).
    groups
        Into how many parts the channels are divided.
    """
    (sy, sx), (py, px), (dy, dx) = _pair(stride), _pair(padding), _pair(dilation)
    n, c, h, w = x.shape
    out, per_group, kh, kw = weight.shape
    _same_extent(
        "conv2d",
        f"the number of channels of {x.name}",
        c,
        f"that of {weight.name} times groups",
        _core.const(per_group * groups),
    )
    padded = pad(x, [0, 0, py, px], [0, 0, py, px]) if py or px else x
    rc = _core.te_reduce_axis(0, per_group, "rc")
    ry = _core.te_reduce_axis(0, kh, "ry")
    rx = _core.te_reduce_axis(0, kw, "rx")
    height = (h + 2 * py - dy * (kh - 1) - 1) // sy + 1
    width = (w + 2 * px - dx * (kw - 1) - 1) // sx + 1

    def element(image: Any, channel: Any, y: Any, column: Any) -> Any:
        source = rc if groups == 1 else channel // (out // groups) * per_group + rc
        value = padded[image, source, y * sy + ry * dy, column * sx + rx * dx]
        return sum_of(value * weight[channel, rc, ry, rx], axis=[rc, ry, rx])

    return compute((n, out, height, width), element, name="conv2d")


def _pooled(name: str, reducer: Reducer, x: Tensor, size: Pair, stride: Pair | None) -> Tensor:
    (kh, kw), (sy, sx) = _pair(size), _pair(size if stride is None else stride)
    n, c, h, w = x.shape
    ry, rx = _core.te_reduce_axis(0, kh, "ry"), _core.te_reduce_axis(0, kw, "rx")
    return compute(
        (n, c, (h - kh) // sy + 1, (w - kw) // sx + 1),
        lambda image, channel, y, column: reducer(
            x[image, channel, y * sy + ry, column * sx + rx], axis=[ry, rx]
        ),
        name=name,
    )


@explained
def max_pool2d(x: Tensor, size: Pair, stride: Pair | None = None) -> Tensor:
    """Return the largest elements of windows of images; they access, without a stride."""
    return _pooled("max_pool2d", max_of, x, size, stride)


@explained
def avg_pool2d(x: Tensor, size: Pair, stride: Pair | None = None) -> Tensor:
    """Return the means of windows of images; they access, without a stride."""
    total = _pooled("window_sum", sum_of, x, size, stride)
    kh, kw = _pair(size)
    return compute(
        total.shape, lambda *i: total[i] / _core.const(kh * kw, x.dtype), name="avg_pool2d"
    )


# ---- Elements and rows ----


@explained
def relu(x: Tensor) -> Tensor:
    """Return the elements that are positive, and 0 for others."""
    zero = _core.const(0, x.dtype)
    return compute(x.shape, lambda *i: _core.max(x[i], zero), name=f"{x.name}_relu")


@explained
def gelu(x: Tensor) -> Tensor:
    """Return ``x * P(normal <= x)``."""
    half, root = _core.const(0.5, x.dtype), _core.const(2**-0.5, x.dtype)
    return compute(
        x.shape, lambda *i: x[i] * half * (1 + _core.erf(x[i] * root)), name=f"{x.name}_gelu"
    )


@explained
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return ``exp(x) / sum(exp(x))`` along a dimension, without overflow."""
    (place,) = _positions("softmax", x, axis)
    largest = max(x, place, keepdims=True)

    def at(indices: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*indices[:place], 0, *indices[place + 1 :])

    powers = compute(x.shape, lambda *i: _core.exp(x[i] - largest[at(i)]), name=f"{x.name}_exp")
    total = sum(powers, place, keepdims=True)
    return compute(x.shape, lambda *i: powers[i] / total[at(i)], name=f"{x.name}_softmax")


@explained
def layer_norm(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Return rows (along the last dimension) with mean 0 and variance 1, scaled and shifted."""
    average = mean(x, -1, keepdims=True)

    def at(indices: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*indices[:-1], 0)

    squares = compute(
        x.shape,
        lambda *i: (x[i] - average[at(i)]) * (x[i] - average[at(i)]),
        name=f"{x.name}_squares",
    )
    variance = mean(squares, -1, keepdims=True)
    tiny = _core.const(epsilon, x.dtype)
    return compute(
        x.shape,
        lambda *i: (
            (x[i] - average[at(i)]) * _core.rsqrt(variance[at(i)] + tiny) * scale[i[-1]]
            + shift[i[-1]]
        ),
        name=f"{x.name}_layer_norm",
    )


@explained
def rms_norm(x: Tensor, scale: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Return rows (along the last dimension) divided by their root mean square, scaled."""
    squares = compute(x.shape, lambda *i: x[i] * x[i], name=f"{x.name}_squares")
    power = mean(squares, -1, keepdims=True)
    tiny = _core.const(epsilon, x.dtype)
    return compute(
        x.shape,
        lambda *i: x[i] * _core.rsqrt(power[(*i[:-1], 0)] + tiny) * scale[i[-1]],
        name=f"{x.name}_rms_norm",
    )
