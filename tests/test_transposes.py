# SPDX-License-Identifier: Apache-2.0
"""Transposes and layouts: tiles are transposed in registers, whole or not, on each target."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir

DTYPES = ["float32", "float64", "float16", "int8", "uint16", "bool"]


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return whole numbers that each type has."""
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def moved(shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> tir.PrimFunc:
    """Return a function that puts the axes of an array in another order."""
    A = te.placeholder(shape, dtype, name="A")
    places = [order.index(axis) for axis in range(len(order))]
    B = te.compute(
        [shape[axis] for axis in order], lambda *i: A(*(i[place] for place in places)), name="B"
    )
    return te.create_prim_func([A, B])


def tile(func: tir.PrimFunc, columns: int, rows: int) -> tir.Schedule:
    """Schedule a transpose by a tile of two vectorized loops."""
    sch = tir.Schedule(func)
    i, j = sch.get_loops("B")
    i, i_lane = sch.split(i, [None, columns])
    j, j_lane = sch.split(j, [None, rows])
    sch.reorder(i, j, i_lane, j_lane)
    sch.vectorize(i_lane)
    sch.vectorize(j_lane)
    return sch


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(16, 16), (33, 47), (200, 67)], ids=str)
def test_a_tile_of_two_vectorized_loops_is_a_transpose(shape: tuple[int, int], dtype: str):
    for columns, rows in [(4, 4), (8, 8), (16, 16), (8, 16), (32, 8)]:
        sch = tile(moved(shape, (1, 0), dtype), columns, rows)
        assert dtype == "bool" or "T.Shuffle" in ls.lower(sch).script()
        a = numbers(shape, dtype)
        np.testing.assert_array_equal(ls.build(sch)(a), a.T)


@pytest.mark.parametrize("target", ["c", "llvm -mcpu=x86-64", "llvm -opt-level=0"])
def test_other_targets_transpose_alike(target: str):
    a = numbers((21, 40), "int16")
    sch = tile(moved((21, 40), (1, 0), "int16"), 8, 8)
    np.testing.assert_array_equal(ls.build(sch, target=target)(a), a.T)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_code_for_other_processors_is_made_of_shuffles(dtype: str):
    target = "llvm -mcpu=skylake-avx512"
    func = moved((256, 256), (1, 0), dtype)
    assert "T.Shuffle" in ls.lower(ls.default_schedule(func, target), target=target).script()
    code = ls.build(func, target=target).source("assembly")
    assert "unpckl" in code and "gather" not in code


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("shape", [(2, 24, 15, 17), (1, 3, 0, 40), (1, 70, 7, 7)], ids=str)
def test_any_order_of_axes_is_right(shape: tuple[int, ...], dtype: str):
    a = numbers(shape, dtype)
    for order in itertools.permutations(range(4)):
        expected = a.transpose(order)
        found = np.zeros(expected.shape, dtype)
        ls.build(moved(shape, order, dtype))(a, found)
        np.testing.assert_array_equal(found, expected, str(order))


def test_pictures_are_one_run_of_pixels():
    trace = str(ls.default_schedule(moved((2, 24, 15, 17), (0, 2, 3, 1), "float32")).trace)
    assert trace.count("sch.vectorize(") == 2
    fused = trace.index("sch.fuse(")
    assert fused < trace.index("sch.split(")


def test_sizes_may_be_known_at_run_time():
    n, m = te.size_var("n"), te.size_var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((m, n), lambda i, j: A[j, i] + i, name="B")
    kernel = ls.build([A, B])
    for shape in [(1, 1), (3, 50), (8, 8), (31, 64), (100, 77)]:
        a = numbers(shape, "float32")
        expected = a.T + np.arange(shape[1], dtype="float32")[:, None]
        np.testing.assert_array_equal(kernel(a), expected, str(shape))


def test_a_square_in_place_is_refused_or_right():
    """What is written is not loaded ahead."""
    func = ls.from_source("""
@T.prim_func
def turned(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i in T.vectorized(16):
        for j in T.vectorized(16):
            B[i, j] = A[j, i] + B[i, j]
""")
    a, b = numbers((16, 16), "float32"), numbers((16, 16), "float32") * 2
    expected = a.T + b
    assert "A_tile" in ls.lower(func).script() and "B_tile" not in ls.lower(func).script()
    ls.build(func)(a, b)
    np.testing.assert_array_equal(b, expected)
