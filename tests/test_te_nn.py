# SPDX-License-Identifier: Apache-2.0
"""The operators of te.nn, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te
from loopsmith.te import nn

RANDOM = np.random.default_rng(7)


def check(make: Callable[..., Any], expected: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
    """Build an operator, call it, and compare."""
    arrays = [RANDOM.standard_normal(shape).astype("float32") for shape in shapes]
    tensors = [te.placeholder(shape, name=f"X{i}") for i, shape in enumerate(shapes)]
    got = ls.build([*tensors, make(*tensors)])(*arrays)
    wanted = np.asarray(expected(*arrays))
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


REDUCTIONS = [(None, False), (0, False), (-1, True), ((0, 2), False), ((1, 2), True)]


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "prod"])
@pytest.mark.parametrize(("axis", "keepdims"), REDUCTIONS)
def test_a_reduction_is_numpys(name: str, axis: Any, keepdims: bool):
    check(
        lambda x: getattr(x, name)(axis, keepdims),
        lambda x: getattr(x, name)(axis=axis, keepdims=keepdims),
        (3, 4, 5),
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_argmax_and_argmin_are_numpys(axis: int):
    check(lambda x: nn.argmax(x, axis), lambda x: x.argmax(axis), (6, 7))
    check(lambda x: nn.argmin(x, axis), lambda x: x.argmin(axis), (6, 7))


def test_argmax_takes_the_first_of_equal_elements():
    x = np.array([[1, 3, 3, 2], [5, 5, 5, 5]], "float32")
    X = te.placeholder((2, 4), name="X")
    assert ls.build([X, nn.argmax(X)])(x).tolist() == [1, 0]


def test_shapes_are_numpys():
    check(lambda x: x.T, lambda x: x.T, (3, 4, 5))
    check(lambda x: x.transpose(1, 2, 0), lambda x: x.transpose(1, 2, 0), (3, 4, 5))
    check(lambda x: x.reshape(6, 10), lambda x: x.reshape(6, 10), (3, 4, 5))
    check(lambda x: nn.pad(x, [1, 0], [2, 3], 0.5),
          lambda x: np.pad(x, [(1, 2), (0, 3)], constant_values=0.5), (3, 4))  # fmt: skip


SLICES = [
    np.s_[1:3], np.s_[:, 2], np.s_[..., 1:4:2], np.s_[-2:, ::-1], np.s_[0, ..., 2], np.s_[:, 1:-1],
]  # fmt: skip


@pytest.mark.parametrize("index", SLICES, ids=str)
def test_a_slice_is_numpys(index: Any):
    check(lambda x: x[index], lambda x: x[index], (4, 5, 6))


def test_a_slice_of_a_symbolic_size():
    n = te.size_var("n")
    X = te.placeholder((n,), name="X")
    x = np.arange(10, dtype="float32")
    program = ls.build([X, X[2:-1]], name="inner")
    np.testing.assert_array_equal(program(x, out=np.zeros(7, "float32")), x[2:-1])
    np.testing.assert_array_equal(program(x), x[2:-1])


def test_products_are_numpys():
    check(nn.matmul, lambda a, b: a @ b, (5, 6), (6, 7))
    check(nn.matmul, lambda a, b: a @ b, (2, 5, 6), (2, 6, 7))
    check(nn.matmul, lambda a, b: a @ b, (2, 5, 6), (6, 7))


def convolved(x: np.ndarray, w: np.ndarray, stride: int, padding: int, dilation: int, groups: int):
    """Return a convolution, element by element."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    n, _, h, width = x.shape
    out, per_group, kh, kw = w.shape
    height = (h - dilation * (kh - 1) - 1) // stride + 1
    columns = (width - dilation * (kw - 1) - 1) // stride + 1
    result = np.zeros((n, out, height, columns), "float32")
    for o in range(out):
        first = o // (out // groups) * per_group
        for y in range(height):
            for z in range(columns):
                rows = slice(y * stride, y * stride + dilation * kh, dilation)
                cols = slice(z * stride, z * stride + dilation * kw, dilation)
                window = x[:, first : first + per_group, rows, cols][:, :, :kh, :kw]
                result[:, o, y, z] = (window * w[o]).sum((1, 2, 3))
    return result


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2)]
)
def test_a_convolution_is_that_of_its_definition(stride, padding, dilation, groups):
    check(
        lambda x, w: nn.conv2d(x, w, stride, padding, dilation, groups),
        lambda x, w: convolved(x, w, stride, padding, dilation, groups),
        (2, 4, 9, 8),
        (6, 4 // groups, 3, 3),
    )


def test_pooling_reduces_windows():
    windows = lambda x: x.reshape(1, 2, 3, 2, 4, 2)  # noqa: E731
    check(lambda x: nn.max_pool2d(x, 2), lambda x: windows(x).max((3, 5)), (1, 2, 6, 8))
    check(lambda x: nn.avg_pool2d(x, 2), lambda x: windows(x).mean((3, 5)), (1, 2, 6, 8))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def test_rows_are_normalised():
    check(nn.softmax, lambda x: softmax(x, -1), (4, 9))
    check(lambda x: nn.softmax(x, 0), lambda x: softmax(x, 0), (4, 9))
    check(
        nn.layer_norm,
        lambda x, s, t: (x - x.mean(-1, keepdims=True))
        / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * s + t,
        (4, 16), (16,), (16,),
    )  # fmt: skip
    check(
        nn.rms_norm,
        lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s,
        (4, 16), (16,),
    )  # fmt: skip


def test_elements():
    check(nn.relu, lambda x: np.maximum(x, 0), (3, 4))
    from math import erf

    phi = np.vectorize(lambda v: 0.5 * (1 + erf(v / 2**0.5)))
    check(nn.gelu, lambda x: x * phi(x), (3, 4))


MISTAKES = {
    "sum: there is no dimension 2, X has 2\n"
    "  hint: count from 0 to 1, or from -1 to -2 from the end": lambda x: x.sum(2),
    "transpose: [0, 0] is no order of the 2 dimensions of X\n"
    "  hint: name each dimension once": lambda x: x.transpose(0, 0),
    "matmul: the last extent of X is 6, and the last but one of X is 4\n"
    "  hint: give tensors whose extents agree": lambda x: nn.matmul(x, x),
    "reshape: the number of elements of X is 24, and that of the new shape is 25\n"
    "  hint: give tensors whose extents agree": lambda x: x.reshape(5, 5),
    "X has 2 dimensions, and 3 indices are given\n  hint: leave out the last ones": lambda x: x[
        :, :, 0
    ],
    "pad: 1 sizes for the 2 dimensions of X\n  hint: give one for each dimension": lambda x: nn.pad(
        x, [1], [1]
    ),
    "matmul: A has 1 dimensions, and X has 2\n"
    "  hint: give (..., n, k) and (..., k, m), or (k, m)": lambda x: nn.matmul(
        te.placeholder((4,), name="A"), x
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_names_the_tensor(text: str):
    with pytest.raises(ls.UserError) as caught:
        MISTAKES[text](te.placeholder((4, 6), name="X"))
    assert str(caught.value).startswith(text)
