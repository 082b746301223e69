# SPDX-License-Identifier: Apache-2.0
"""Images of te.nn: in another size, spread by weights, and normed, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te
from loopsmith.te import nn

RANDOM = np.random.default_rng(5)
IMAGES = RANDOM.standard_normal((2, 6, 5, 4)).astype("float32")


def check(make: Callable[..., Any], expected: np.ndarray, *arrays: np.ndarray) -> None:
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"X{i}") for i, a in enumerate(arrays)]
    found = ls.build([*tensors, make(*tensors)])(*arrays)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def position(coordinates: str, i: int, old: int, new: int) -> float:
    if coordinates == "half_pixel":
        return (i + 0.5) * old / new - 0.5
    return i * old / new if coordinates == "asymmetric" else i * (old - 1) / max(new - 1, 1)


def cubic(distance: float) -> float:
    """Return the weight of an element at a distance, with a slope of -0.5 at 1."""
    d = abs(distance)
    if d < 1:
        return 1.5 * d**3 - 2.5 * d**2 + 1
    return -0.5 * (d**3 - 5 * d**2 + 8 * d - 4)


def resized(x: np.ndarray, new: int, axis: int, method: str, coordinates: str) -> np.ndarray:
    """Return an array with one dimension resized."""
    old, lines = x.shape[axis], []

    def element(place: float) -> np.ndarray:
        return x.take(int(min(max(place, 0), old - 1)), axis)

    for i in range(new):
        at = position(coordinates, i, old, new)
        first = np.floor(at)
        part = at - first
        if method == "nearest":
            rounded = {"half_pixel": np.ceil(at - 0.5), "align_corners": np.floor(at + 0.5)}
            lines.append(element(rounded.get(coordinates, first)))
        elif method == "linear":
            lines.append(element(first) * (1 - part) + element(first + 1) * part)
        else:
            lines.append(sum(element(first + k) * cubic(part - k) for k in (-1, 0, 1, 2)))
    return np.stack(lines, axis)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
def test_images_are_resized(method: str, coordinates: str):
    small = IMAGES[:, :1].copy()
    for size in [(7, 3), (5, 4), (1, 9)]:
        rows = resized(small.astype("float64"), size[0], 2, method, coordinates)
        expected = resized(rows, size[1], 3, method, coordinates)
        check(lambda x, s=size: nn.resize2d(x, s, method, coordinates), expected, small)


def test_a_way_to_resize_that_there_is_not_is_refused():
    with pytest.raises(ls.UserError) as error:
        nn.resize2d(te.placeholder((1, 1, 2, 2)), (4, 4), "lanczos")
    assert error.value.problem == "resize2d: method is 'lanczos'"
    assert error.value.hint == "take one of nearest, linear, cubic"


@pytest.mark.parametrize(
    ("stride", "padding", "more"),
    [((1, 1), 0, 0), ((2, 1), 1, 0), ((3, 2), 2, 1), ((2, 2), 1, 1), ((4, 5), 0, 0)],
)
def test_a_transposed_convolution_spreads_elements(stride: Any, padding: int, more: int):
    weight = RANDOM.standard_normal((6, 2, 3, 4)).astype("float32")
    n, _, h, w = IMAGES.shape
    height, width = (h - 1) * stride[0] + 3 + more, (w - 1) * stride[1] + 4 + more
    whole = np.zeros((n, 2, height, width))
    for y in range(h):
        for x in range(w):
            at = np.s_[:, :, y * stride[0] : y * stride[0] + 3, x * stride[1] : x * stride[1] + 4]
            whole[at] += np.einsum("nc,cokl->nokl", IMAGES[:, :, y, x], weight)
    expected = whole[:, :, padding : height - padding, padding : width - padding]
    check(lambda x, k: nn.conv2d_transpose(x, k, stride, padding, more), expected, IMAGES, weight)


def test_a_transposed_convolution_has_weights_for_all_channels():
    with pytest.raises(TypeError, match="conv2d_transpose: the number of channels of X is 3, and"):
        nn.conv2d_transpose(te.placeholder((1, 3, 4, 4), name="X"), te.placeholder((2, 1, 3, 3)))


@pytest.mark.parametrize("groups", [1, 3, 6])
def test_groups_of_channels_are_normed(groups: int):
    scale, shift = RANDOM.standard_normal((2, 6)).astype("float32")
    rows = IMAGES.reshape(2, groups, -1)
    rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    expected = rows.reshape(IMAGES.shape) * scale[:, None, None] + shift[:, None, None]
    check(lambda x, a, b: nn.group_norm(x, a, b, groups), expected, IMAGES, scale, shift)


def test_groups_divide_the_channels():
    x, v = te.placeholder((1, 6, 2), name="X"), te.placeholder((6,))
    with pytest.raises(TypeError, match="group_norm: X has 6 channels, no multiple of 4 groups"):
        nn.group_norm(x, v, v, 4)
