# SPDX-License-Identifier: Apache-2.0
"""Operators of tvm.topi on rows, images and volumes, against NumPy."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import loopsmith.compat
import numpy as np
import pytest

import loopsmith as ls

RNG = np.random.default_rng(11)


@pytest.fixture
def topi() -> Iterator[Any]:
    was_there = loopsmith.compat.install()
    from tvm import topi as module

    yield module
    if not was_there:
        loopsmith.compat.uninstall()


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def computed(operator: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Return what an operator makes of tensors of these values."""
    inputs = [
        ls.te.placeholder(array.shape, str(array.dtype), name=f"X{i}")
        for i, array in enumerate(arrays)
    ]
    result = operator(*inputs)
    out = np.zeros([int(extent) for extent in result.shape], result.dtype)
    ls.build([*inputs, result])(*map(np.ascontiguousarray, arrays), out)
    return out


def convolved(
    x: np.ndarray, w: np.ndarray, stride: int, borders: list[tuple[int, int]], dilation: int = 1,
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Return the convolution of x[n, c, ...] with w[o, c, ...]."""
    wide = np.pad(x, [(0, 0), (0, 0), *borders])
    size = [(k - 1) * dilation + 1 for k in w.shape[2:]]
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(wide, size, axes)
    taken = (slice(None),) * 2 + (slice(None, None, stride),) * len(axes)
    taken += (slice(None, None, dilation),) * len(axes)
    parts = np.split(windows[taken], groups, 1)
    weights = np.split(w, groups)
    letters = "xyz"[: len(axes)]
    rule = f"nc{letters}{letters.upper()},oc{letters.upper()}->no{letters}"
    return np.concatenate([np.einsum(rule, a, b) for a, b in zip(parts, weights)], 1)


def last(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x, 1, -1)


def weights_last(w: np.ndarray) -> np.ndarray:
    return np.moveaxis(w, (0, 1), (-1, -2))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("is_last", [False, True])
def test_convolutions_of_groups_of_channels(topi: Any, rank: int, is_last: bool) -> None:
    x, w = random(2, 6, *[7] * rank), random(4, 3, *[3] * rank)
    expected = convolved(x, w, 2, [(1, 2)] * rank, dilation=2, groups=2)
    layout = {1: ("ncw", "nwc"), 2: ("nchw", "nhwc"), 3: ("ncdhw", "ndhwc")}[rank][is_last]
    name = f"conv3d_{layout}" if rank == 3 else f"group_conv{rank}d_{layout}"
    border = [1] * rank + [2] * rank
    got = computed(
        lambda a, b: getattr(topi.nn, name)(a, b, 2, border, 2, 2),
        last(x) if is_last else x,
        weights_last(w) if is_last else w,
    )
    np.testing.assert_allclose(got, last(expected) if is_last else expected, rtol=1e-4, atol=1e-5)


def test_same_puts_the_larger_half_of_the_border_before(topi: Any) -> None:
    x, w = random(1, 2, 5, 6), random(3, 2, 2, 4)
    expected = convolved(x, w, 1, [(1, 0), (2, 1)])
    got = computed(lambda a, b: topi.nn.conv2d_nchw(a, b, 1, "SAME", 1), x, w)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert topi.nn.utils.get_pad_tuple("SAME", (2, 4)) == (1, 2, 0, 1)
    assert topi.nn.utils.get_pad_tuple1d(3, (2,)) == (3, 3)
    assert topi.nn.utils.get_pad_tuple3d((1, 2, 3), (2, 2, 2)) == (1, 2, 3, 1, 2, 3)
    with pytest.raises(ValueError, match="Unknown padding option HALF"):
        topi.nn.utils.get_pad_tuple("HALF", (2, 4))
    with pytest.raises(ValueError, match="Size of padding can only be 2 or 4"):
        topi.nn.utils.get_pad_tuple((1, 2, 3), (2, 4))


def test_strides_and_borders_are_inferred_from_tensors(topi: Any) -> None:
    data = ls.te.placeholder((1, 2, 9, 11), name="data")
    wide = topi.nn.pad(data, [0, 0, 1, 2])
    kernel = ls.te.placeholder((3, 2, 3, 3), name="kernel")
    out = topi.nn.conv2d_nchw(data, kernel, stride=(2, 4), padding=0, dilation=1)
    assert topi.nn.utils.infer_pad(data, wide) == (1, 2)
    assert topi.nn.utils.infer_pad(data, None) == (0, 0)
    assert topi.nn.utils.infer_stride(data, kernel, out) == (2, 4)


def test_a_layout_says_what_each_dimension_is(topi: Any) -> None:
    x, w = random(2, 3, 5, 4), random(4, 3, 2, 2)
    expected = convolved(x, w, 1, [(0, 0)] * 2)
    got = computed(
        lambda a, b: topi.nn.conv(a, b, 1, 0, 1, 1, "HWCN", "IOHW"),
        x.transpose(2, 3, 1, 0),
        w.transpose(1, 0, 2, 3),
    )
    np.testing.assert_allclose(got.transpose(3, 2, 0, 1), expected, rtol=1e-5, atol=1e-6)
    data, kernel = ls.te.placeholder(x.shape), ls.te.placeholder(w.shape)
    with pytest.raises(ValueError, match="conv2d: there is no layout NCXY OIHW"):
        topi.nn.conv2d(data, kernel, 1, 0, 1, "NCXY", "OIHW")


def test_channels_may_stand_in_blocks(topi: Any) -> None:
    x, w = random(1, 8, 6, 6), random(12, 8, 3, 3)
    blocks = x.reshape(1, 2, 4, 6, 6).transpose(0, 1, 3, 4, 2)
    weights = w.reshape(2, 6, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    got = computed(
        lambda a, b: topi.nn.conv2d_NCHWc(a, b, 2, 1, 1, "NCHW4c", "NCHW6c"), blocks, weights
    )
    expected = convolved(x, w, 2, [(1, 1)] * 2)
    plain = got.transpose(0, 1, 4, 2, 3).reshape(expected.shape)
    np.testing.assert_allclose(plain, expected, rtol=1e-4, atol=1e-5)
    each = random(8, 1, 3, 3)
    got = computed(
        lambda a, b: topi.nn.depthwise_conv2d_NCHWc(a, b, 1, "SAME", 1, "NCHW4c", "NCHW4c"),
        blocks,
        each.reshape(2, 4, 1, 3, 3).transpose(0, 2, 3, 4, 1)[:, :, :, :, None],
    )
    plain = got.transpose(0, 1, 4, 2, 3).reshape(x.shape)
    np.testing.assert_allclose(
        plain, convolved(x, each, 1, [(1, 1)] * 2, groups=8), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_transposed_convolution_is_the_gradient_of_one(topi: Any, rank: int) -> None:
    # <conv(y), x> = <y, transposed(x)> for all y.
    groups = 1 if rank == 3 else 2
    w = random(4, 3, *[3] * rank)
    border = [(1, 0)] * rank
    y = random(2, 3 * groups, *[8] * rank)
    x = random(*convolved(y, w, 2, border, groups=groups).shape)
    name = {1: "group_conv1d_transpose_ncw", 2: "group_conv2d_transpose_nchw",
            3: "conv3d_transpose_ncdhw"}[rank]  # fmt: skip
    # One row more at the end: the convolution does not reach it from a whole stride.
    more = 8 - ((x.shape[2] - 1) * 2 + 3 - 1)
    args: list[Any] = [2, [1] * rank + [0] * rank, "float32", more]
    if groups > 1:
        args.append(groups)
    got = computed(lambda a, b: getattr(topi.nn, name)(a, b, *args), x, w)
    assert got.shape == y.shape
    np.testing.assert_allclose(
        (convolved(y, w, 2, border, groups=groups) * x).sum(), (y * got).sum(), rtol=1e-3
    )
    if groups > 1:
        plain = name.removeprefix("group_")
        with pytest.raises(ValueError, match=f"{plain}: groups is 1 here, group_{plain} has"):
            computed(lambda a, b: getattr(topi.nn, plain)(a, b, *args), x, w)


@pytest.mark.parametrize("is_last", [False, True])
def test_dilation_takes_the_largest_sum_of_a_window(topi: Any, is_last: bool) -> None:
    x, w = random(1, 2, 6, 6), random(2, 2, 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2, ::2]
    expected = (windows + w[:, None, None]).max((-1, -2))
    name = "dilation2d_nhwc" if is_last else "dilation2d_nchw"
    got = computed(
        lambda a, b: getattr(topi.image, name)(a, b, 2, 0, 1),
        last(x) if is_last else x,
        np.moveaxis(w, 0, -1) if is_last else w,
    )
    np.testing.assert_allclose(got, last(expected) if is_last else expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    ("name", "extents", "sizes"),
    [("adaptive_pool1d", (11,), (4,)), ("adaptive_pool3d", (5, 4, 6), (2, 3, 6))],
)
def test_parts_of_rows_and_volumes_are_pooled(
    topi: Any, kind: str, name: str, extents: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    x = random(2, 3, *extents)
    expected = np.zeros((2, 3, *sizes), "float32")
    for place in product(*map(range, sizes)):
        part = tuple(
            slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(place, extents, sizes)
        )
        axes = tuple(range(2, x.ndim))
        taken = x[(..., *part)]
        expected[(..., *place)] = taken.max(axes) if kind == "max" else taken.mean(axes)
    got = computed(lambda a: getattr(topi.nn, name)(a, sizes, kind), x)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def between(x: np.ndarray, axis: int, positions: np.ndarray) -> np.ndarray:
    """Return an array read along one axis between its elements, straight lines between them."""
    first = np.floor(positions).astype(int)
    part = (positions - first).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    low = np.take(x, first.clip(0, x.shape[axis] - 1), axis)
    high = np.take(x, (first + 1).clip(0, x.shape[axis] - 1), axis)
    return low * (1 - part) + high * part


def test_rows_and_volumes_are_resized(topi: Any) -> None:
    x = random(2, 3, 4, 5, 6)
    expected = x
    for axis, new in zip((2, 3, 4), (7, 5, 9)):
        old = x.shape[axis]
        expected = between(expected, axis, (np.arange(new) + 0.5) * old / new - 0.5)
    got = computed(lambda a: topi.image.resize3d(a, [0.0] * 6, (7, 5, 9)), x)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    rows = random(2, 7, 3)
    got = computed(
        lambda a: topi.image.resize1d(
            a, [0.0] * 2, (4,), "NWC", coordinate_transformation_mode="align_corners"
        ),
        rows,
    )
    np.testing.assert_allclose(got, between(rows, 1, np.arange(4) * 2.0), rtol=1e-5, atol=1e-6)


def test_the_nearest_element_is_the_one_before_without_a_rounding(topi: Any) -> None:
    x = random(1, 1, 3, 4)

    def resized(a: Any, **more: Any) -> Any:
        return topi.image.resize2d(a, [0.0] * 4, (6, 6), method="nearest_neighbor", **more)

    rows, columns = np.arange(6) / 2 - 0.25, (np.arange(6) + 0.5) * 4 / 6 - 0.5
    before = [np.floor(p + 1e-5).clip(0).astype(int) for p in (rows, columns)]
    np.testing.assert_array_equal(computed(resized, x)[0, 0], x[0, 0][np.ix_(*before)])
    nearest = [np.ceil(p - 0.5).clip(0).astype(int) for p in (rows, columns)]
    got = computed(lambda a: resized(a, rounding_method="round_prefer_floor"), x)
    np.testing.assert_array_equal(got[0, 0], x[0, 0][np.ix_(*nearest)])
    with pytest.raises(ValueError, match="resize2d: rounding_method is 'up', not one of round, "):
        resized(ls.te.placeholder((1, 1, 3, 4)), rounding_method="up")


def test_blocks_and_fractions_are_upsampled(topi: Any) -> None:
    x = random(1, 2, 3, 4, 2, 3)
    got = computed(lambda a: topi.nn.upsampling(a, 2, 3, "NCHW2n3c"), x)
    np.testing.assert_array_equal(got, x.repeat(2, 2).repeat(3, 3))
    images = random(1, 5, 4, 2)
    got = computed(lambda a: topi.nn.upsampling(a, 1.4, 2.0, "NHWC", "bilinear"), images)
    expected = between(between(images, 1, np.arange(7) * 5 / 7), 2, np.arange(8) / 2)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_repeated_elements_are_read_at_integers(topi: Any) -> None:
    x = ls.te.placeholder((1, 4, 8, 8), "int8", name="x")
    func = ls.te.create_prim_func([x, topi.nn.upsampling(x, 2, 2)])
    assert "T.floor(" not in func.script() and "// 2" in func.script()


def test_parts_of_images_are_resized(topi: Any) -> None:
    x = random(2, 9, 7, 3)
    boxes = np.array([[0.25, 0, 1, 0.5], [0, 0.5, 0.5, 1.5]], "float32")
    images = np.array([1, 0], "int32")
    got = computed(
        lambda a, b, i: topi.image.crop_and_resize(
            a, b, i, (4, 3), "NHWC", extrapolation_value=-7.0
        ),
        x,
        boxes,
        images,
    )
    for n, ((top, left, bottom, right), image) in enumerate(zip(boxes, images)):
        rows = np.linspace(top * 8, bottom * 8, 4)
        columns = np.linspace(left * 6, right * 6, 3)
        expected = between(between(x[image], 0, rows), 1, columns)
        expected[:, columns > 6] = -7
        np.testing.assert_allclose(got[n], expected, rtol=1e-4, atol=1e-5)
    expected = topi.testing.crop_and_resize_python(
        x, boxes, images, (4, 3), "NHWC", extrapolation_value=-7.0
    )
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def sampled(topi: Any, way: tuple[Any, ...], image: Any, grid: Any) -> Any:
    return topi.image.grid_sample(image, grid, *way)


def test_a_grid_is_mapped_and_an_image_is_read_there(topi: Any) -> None:
    maps = random(2, 2, 3)
    grid = computed(lambda a: topi.image.affine_grid(a, (3, 4)), maps)
    y, x = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 4), indexing="ij")
    points = np.stack([x, y, np.ones_like(x)])
    np.testing.assert_allclose(grid, np.einsum("nik,kyx->niyx", maps, points), atol=1e-5)
    # The identity reads the image itself, and a shift by one element its neighbours.
    images = random(2, 3, 4, 5)
    same = np.tile(np.array([[1, 0, 0], [0, 1, 0]], "float32"), (2, 1, 1))
    shifted = same + np.array([[0, 0, 2 / 4], [0, 0, 0]], "float32")

    def read(method: str, mode: str, moved: np.ndarray) -> np.ndarray:
        def operator(image: Any, m: Any) -> Any:
            return topi.image.grid_sample(
                image, topi.image.affine_grid(m, (4, 5)), method, padding_mode=mode
            )

        return computed(operator, images, moved)

    for method in ("nearest", "bilinear", "bicubic"):
        np.testing.assert_allclose(read(method, "border", same), images, atol=1e-4)
    beyond = {"zeros": 0 * images[..., -1:], "border": images[..., -1:],
              "reflection": images[..., -2:-1]}  # fmt: skip
    for mode, column in beyond.items():
        expected = np.concatenate([images[..., 1:], column], -1)
        np.testing.assert_allclose(read("bilinear", mode, shifted), expected, atol=1e-4)
    np.testing.assert_allclose(grid, topi.testing.affine_grid_python(maps, (3, 4)), atol=1e-5)
    for way in itertools.product(("nearest", "bilinear", "bicubic"), ["NCHW"], beyond, [0, 1]):
        got = computed(functools.partial(sampled, topi, way), images, 1.5 * grid)
        expected = topi.testing.grid_sample_python(images, 1.5 * grid, *way)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="grid_sample: padding_mode is 'wrap', not one of zeros"):
        read("nearest", "wrap", same)


@pytest.mark.parametrize(
    ("name", "mode"), [("reflect_pad", "reflect"), ("replicate_pad", "edge"),
                       ("circular_pad", "wrap")]
)  # fmt: skip
def test_borders_go_on_with_elements(topi: Any, name: str, mode: Any) -> None:
    x = random(2, 4, 5)
    got = computed(lambda a: getattr(topi.nn, name)(a, [0, 1, 3], [0, 2, 0]), x)
    np.testing.assert_array_equal(got, np.pad(x, [(0, 0), (1, 2), (3, 0)], mode=mode))


def test_layers_of_single_elements(topi: Any) -> None:
    x = random(2, 8, 3, 4) * 10
    got = computed(topi.nn.softplus, x)
    np.testing.assert_allclose(got, np.logaddexp(x, 0), rtol=1e-4, atol=1e-5)
    shuffled = x.reshape(2, 2, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 8)
    np.testing.assert_array_equal(computed(lambda a: topi.nn.pixel_shuffle(a, 2), x), shuffled)
    scale, shift = random(4), random(4)
    got = computed(topi.nn.scale_shift_nhwc, x, scale, shift)
    np.testing.assert_allclose(got, x * scale + shift, rtol=1e-5)


def test_each_family_of_targets_has_the_same_operators(topi: Any) -> None:
    for family in (topi.x86, topi.cuda, topi.arm_cpu, topi.mali):
        assert family.conv2d_nchw is topi.nn.conv2d_nchw
        assert family.schedule_dense is topi.generic.schedule_dense
