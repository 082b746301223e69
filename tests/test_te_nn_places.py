# SPDX-License-Identifier: Apache-2.0
"""Operators of te.nn that sort, accumulate, and take or put elements at places, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te
from loopsmith.te import nn

RANDOM = np.random.default_rng(11)
CUBE = RANDOM.standard_normal((3, 5, 4)).astype("float32")


def computed(make: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """Return what an operator makes of arrays."""
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"X{i}") for i, a in enumerate(arrays)]
    made = make(*tensors)
    results = list(made) if isinstance(made, tuple) else [made]
    outputs = [np.zeros([int(extent) for extent in r.shape], r.dtype) for r in results]
    ls.build([*tensors, *results])(*arrays, *outputs)
    return outputs


def check(make: Callable[..., Any], expected: Callable[..., Any], *arrays: np.ndarray) -> None:
    (found,) = computed(make, *arrays)
    wanted = np.asarray(expected(*arrays))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((7,), -1, "float32"),
        ((1, 1), 0, "float64"),
        ((3, 5), 0, "int8"),
        ((3, 5), 1, "uint16"),
        ((2, 9, 4), 1, "float16"),
    ],
)
def test_equal_elements_keep_their_order_when_sorted(shape: Any, axis: int, dtype: str):
    array = RANDOM.integers(0, 4, shape).astype(dtype)
    check(lambda x: nn.argsort(x, axis), lambda x: np.argsort(x, axis, kind="stable"), array)
    numbers = array.astype("int32")
    check(lambda x: nn.sort(x, axis, descending=True), lambda x: -np.sort(-x, axis), numbers)


def test_what_is_no_number_comes_last():
    array = CUBE.copy()
    array[0, 1, 2] = array[2, 0, 0] = np.nan
    check(lambda x: nn.sort(x, 1), lambda x: np.sort(x, 1), array)
    check(lambda x: nn.sort(x, 1, descending=True), lambda x: -np.sort(-x, 1), array)


def test_the_largest_elements_come_with_their_places():
    values, places = computed(lambda x: nn.topk(x, 2, 1), CUBE)
    np.testing.assert_allclose(values, -np.sort(-CUBE, 1)[:, :2])
    np.testing.assert_array_equal(places, np.argsort(-CUBE, 1)[:, :2])
    values, _ = computed(lambda x: nn.topk(x, 3, largest=False), CUBE)
    np.testing.assert_allclose(values, np.sort(CUBE)[..., :3])
    with pytest.raises(ls.BoundsError, match="topk: k is 6, and dimension 1 of X has 5 elements"):
        nn.topk(te.placeholder((3, 5), name="X"), 6, 1)


def test_sizes_may_be_known_when_the_function_is_called():
    n = te.size_var("n")
    x = te.placeholder((n, 3), name="X")
    sorted_rows = ls.build([x, nn.sort(x, 0)])
    for count in (1, 6):
        array = RANDOM.standard_normal((count, 3)).astype("float32")
        np.testing.assert_array_equal(sorted_rows(array), np.sort(array, 0))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_sums_and_products_are_numpys(axis: int):
    check(lambda x: nn.cumsum(x, axis), lambda x: np.cumsum(x, axis), CUBE)
    check(lambda x: nn.cumprod(x, axis), lambda x: np.cumprod(x, axis), CUBE)
    check(lambda x: nn.cumsum(x, axis, exclusive=True), lambda x: np.cumsum(x, axis) - x, CUBE)


def test_running_sums_may_be_of_another_type():
    small = RANDOM.integers(-100, 100, 11).astype("int8")
    check(lambda x: nn.cumsum(x, dtype="int64"), np.cumsum, small)
    empty = np.zeros((0, 2), "float32")
    check(lambda x: nn.cumsum(x, 0), lambda x: np.cumsum(x, 0), empty)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_updates_are_scattered_along_a_dimension(axis: int):
    shape = list(CUBE.shape)
    shape[axis] = 2
    order = np.argsort(RANDOM.random(CUBE.shape), axis).take(range(2), axis)
    updates = RANDOM.standard_normal(shape).astype("float32")

    def expected(data: np.ndarray, places: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = data.copy()
        np.put_along_axis(result, places, new, axis)
        return result

    check(lambda d, i, u: nn.scatter(d, i, u, axis), expected, CUBE, order, updates)
    below = order - CUBE.shape[axis]
    check(lambda d, i, u: nn.scatter(d, i, u, axis), expected, CUBE, below, updates)


@pytest.mark.parametrize(
    ("mode", "ufunc"),
    [("add", np.add), ("mul", np.multiply), ("min", np.minimum), ("max", np.maximum)],
)
def test_several_updates_of_one_element_follow_each_other(mode: str, ufunc: Any):
    places = np.array([[0, 2, 0, -1], [1, 4, 1, 0]])
    updates = RANDOM.standard_normal((4, 4)).astype("float32")

    def expected(data: np.ndarray, at: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = data.copy()
        ufunc.at(result, tuple(at), new)
        return result

    check(lambda d, i, u: nn.scatter_nd(d, i, u, mode), expected, CUBE, places, updates)


def test_a_place_that_is_not_there_is_left_out():
    places = np.array([9, -7, 1], "int32")
    data, updates = np.zeros(4, "float32"), np.arange(3, dtype="float32")
    check(nn.scatter, lambda d, i, u: np.array([0, 2, 0, 0]), data, places, updates)


def test_wrong_scatters_are_refused():
    data, places = te.placeholder((4,), name="D"), te.placeholder((2,), "int32", name="I")
    with pytest.raises(ls.UserError, match="scatter: mode is 'mean', not one of update, add, mul"):
        nn.scatter(data, places, te.placeholder((2,)), mode="mean")
    with pytest.raises(TypeError, match="scatter: U is int32, and D is float32"):
        nn.scatter(data, places, te.placeholder((2,), "int32", name="U"))
    free = te.placeholder((te.size_var("n"), 2), "int32", name="J")
    with pytest.raises(TypeError, match="gather_nd: the first extent of J is n"):
        nn.gather_nd(data, free)


def test_elements_are_gathered_at_places():
    places = RANDOM.integers(0, 5, (3, 2, 4))
    check(lambda x, i: nn.gather(x, i, 1), lambda x, i: np.take_along_axis(x, i, 1), CUBE, places)
    both = np.array([[0, 2, 1], [3, 1, 0]])
    check(nn.gather_nd, lambda x, i: x[tuple(i)], CUBE, both)
    own = np.array([[[0, 4], [1, 2], [3, 3]]])
    check(
        lambda x, i: nn.gather_nd(x, i, batch_dims=1),
        lambda x, i: np.stack([x[b, i[0, b]] for b in range(3)]),
        CUBE,
        own,
    )


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ik,kj->ij", [(3, 4), (4, 5)]),
        ("ik,kj", [(3, 4), (4, 5)]),
        ("ii->i", [(4, 4)]),
        ("ii", [(4, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("...,...", [(1, 3), (2, 1)]),
        ("abc -> cab", [(2, 3, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("i...->...", [(3, 2, 4)]),
        ("i,i,i->", [(3,), (3,), (3,)]),
    ],
)
def test_einsum_is_numpys(subscripts: str, shapes: list[tuple[int, ...]]):
    arrays = [RANDOM.standard_normal(shape).astype("float32") for shape in shapes]
    check(lambda *x: nn.einsum(subscripts, *x), lambda *x: np.einsum(subscripts, *x), *arrays)


@pytest.mark.parametrize(
    ("subscripts", "problem"),
    [
        ("ij,j", "'ij,j' is about 2 operands, and 1 are given"),
        ("i1", "'i1' has 'i1'"),
        ("i", "'i' names 1 dimensions, and X has 2"),
        ("ij->ik", "the result of 'ij->ik' has 'k', which no operand has"),
        ("ij->ii", "the result of 'ij->ii' has 'i' twice"),
    ],
)
def test_wrong_subscripts_are_refused(subscripts: str, problem: str):
    with pytest.raises(ls.UserError) as error:
        nn.einsum(subscripts, te.placeholder((2, 3), name="X"))
    assert error.value.problem == f"einsum: {problem}"
    with pytest.raises(TypeError, match="einsum: extent k of X is 3, and that of Y is 4"):
        nn.einsum("k,k", te.placeholder((3,), name="X"), te.placeholder((4,), name="Y"))
