# SPDX-License-Identifier: Apache-2.0
"""Reductions of elements that lie a few apart: depthwise convolutions with strides, and pooling."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def depthwise(channels: int, size: int, taps: int, stride: int) -> tir.PrimFunc:
    out = (size - taps) // stride + 1
    x = te.placeholder((2, channels, size, size), name="X")
    w = te.placeholder((channels, taps, taps), name="W")
    p, q = te.reduce_axis((0, taps), "p"), te.reduce_axis((0, taps), "q")
    y = te.compute(
        (2, channels, out, out),
        lambda b, c, i, j: te.sum(x[b, c, i * stride + p, j * stride + q] * w[c, p, q], [p, q]),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def pooling(size: int, taps: int, stride: int, dtype: str) -> tir.PrimFunc:
    out = (size - taps) // stride + 1
    x = te.placeholder((3, size, size), dtype, name="X")
    p, q = te.reduce_axis((0, taps), "p"), te.reduce_axis((0, taps), "q")
    y = te.compute(
        (3, out, out),
        lambda c, i, j: te.max(x[c, i * stride + p, j * stride + q], [p, q]),
        name="Y",
    )
    return te.create_prim_func([x, y])


def windows_of(x: np.ndarray, taps: int, stride: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, (taps, taps), axis=(-2, -1))
    return windows[..., ::stride, ::stride, :, :]


@pytest.mark.parametrize("size", [7, 30, 57, 114, 131, 259])
@pytest.mark.parametrize(("taps", "stride"), [(3, 2), (5, 2), (3, 3), (7, 4), (3, 5), (3, 1)])
def test_depthwise_convolutions_compute_what_numpy_does(size: int, taps: int, stride: int):
    func = depthwise(3, size, taps, stride)
    random = np.random.default_rng(0)
    shapes = [[int(n) for n in each.shape] for each in func.buffer_map.values()]
    x, w = (random.standard_normal(shape).astype("float32") for shape in shapes[:2])
    expected = np.einsum("bcijpq,cpq->bcij", windows_of(x, taps, stride), w, dtype="float64")
    for program in (func, ls.default_schedule(func, holes=True)):
        found = np.full(shapes[2], np.nan, "float32")
        ls.build(program)(x, w, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16"])
@pytest.mark.parametrize("size", [2, 9, 34, 67, 130, 515])
@pytest.mark.parametrize(("taps", "stride"), [(2, 2), (3, 2), (4, 4)])
def test_pooling_computes_what_numpy_does(size: int, taps: int, stride: int, dtype: str):
    if size < taps:
        pytest.skip("there is no window")
    func = pooling(size, taps, stride, dtype)
    x = np.random.default_rng(0).integers(0, 100, (3, size, size)).astype(dtype)
    expected = windows_of(x, taps, stride).max(axis=(-2, -1))
    found = np.zeros(expected.shape, dtype)
    ls.build(func)(x, found)
    np.testing.assert_array_equal(found, expected)


def test_strides_are_scheduled_by_steps():
    for func in (depthwise(64, 114, 3, 2), depthwise(64, 227, 5, 2), pooling(112, 2, 2, "float32")):
        sch = ls.default_schedule(func)
        assert "sch.vectorize(" in str(sch.trace)
        assert "sch.rfactor(" not in str(sch.trace)
        again = tir.Schedule(func)
        sch.trace.apply_to_schedule(again)
        ls.assert_structural_equal(again.mod, sch.mod)


@pytest.mark.parametrize(("taps", "stride"), [(16, 4), (12, 4), (12, 3), (16, 2)])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_rows_that_fill_vectors_are_reduced_in_lanes(taps: int, stride: int, dtype: str):
    sch = ls.default_schedule(pooling(224, taps, stride, dtype))
    assert "sch.rfactor(" in str(sch.trace)
