# SPDX-License-Identifier: Apache-2.0
"""Convolutions in groups of channels by default: products of their own, and the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def grouped(channels: int, filters: int, size: int, groups: int, stride: int = 1) -> tir.PrimFunc:
    x = te.placeholder((2, channels, size, size), name="X")
    w = te.placeholder((filters, channels // groups, 3, 3), name="W")
    axes = [te.reduce_axis((0, n), name) for n, name in zip(w.shape[1:], "cpq", strict=True)]
    c, p, q = axes
    out = (size - 3) // stride + 1
    each, inside = filters // groups, channels // groups
    y = te.compute(
        (2, filters, out, out),
        lambda b, f, i, j: te.sum(
            x[b, f // each * inside + c, i * stride + p, j * stride + q] * w[f, c, p, q], axis=axes
        ),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def by_numpy(x: np.ndarray, w: np.ndarray, groups: int, stride: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    parts = zip(np.split(windows, groups, axis=1), np.split(w, groups), strict=True)
    return np.concatenate([np.einsum("bcijpq,fcpq->bfij", *part) for part in parts], axis=1)


SHAPES = [
    (32, 64, 18, 2),
    (64, 64, 13, 4),
    (24, 48, 20, 3),
    (16, 16, 9, 8),
    (8, 8, 9, 8),
    (6, 4, 3, 2),
]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_groups_compute_what_numpy_does(shape: tuple[int, int, int, int], stride: int):
    func = grouped(*shape, stride)
    x, w, found = (
        np.random.default_rng(seed).standard_normal([int(n) for n in each.shape]).astype("float32")
        for seed, each in enumerate(func.buffer_map.values())
    )
    found[...] = np.nan
    expected = by_numpy(x.astype("float64"), w.astype("float64"), shape[3], stride)
    for program in (func, ls.default_schedule(func, holes=True)):
        ls.build(program)(x, w, found)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_large_groups_are_products():
    func = grouped(128, 256, 18, 2)
    sch = ls.default_schedule(func, target="llvm -mcpu=haswell")
    text = str(sch.trace)
    assert "sch.transform_block_layout(" in text
    assert "sch.cache_expression(" in text
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    ls.assert_structural_equal(again.mod, sch.mod)


def test_groups_of_one_filter_stay():
    text = str(ls.default_schedule(grouped(16, 16, 18, 16)).trace)
    assert "sch.transform_block_layout(" not in text
