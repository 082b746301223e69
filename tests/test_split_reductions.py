# SPDX-License-Identifier: Apache-2.0
"""Long reductions to few results, which run in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te


def check(
    tensors: list[te.Tensor], arrays: list[np.ndarray], expected: np.ndarray, parts: int
) -> None:
    """Run it on whole numbers: in this many parts, and alike for any number of threads."""
    module = ls.build(tensors)
    assert f"_rf = T.decl_buffer(({parts * expected.size},)" in module.source("tir")
    results = []
    for threads in (1, 3):
        out = np.full(expected.shape, 77, expected.dtype)
        module.with_threads(threads)(*arrays, out)
        results.append(out)
        np.testing.assert_array_equal(out, expected)
    assert results[0].tobytes() == results[1].tobytes()


def whole(shape: tuple[int, ...], seed: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_a_product_of_few_rows_and_columns(layout: str) -> None:
    m, n, k = 24, 17, 6000
    a = te.placeholder((k, m) if layout[0] == "t" else (m, k), "float32", name="A")
    b = te.placeholder((n, k) if layout[1] == "t" else (k, n), "float32", name="B")
    r = te.reduce_axis((0, k), name="k")

    def value(i: Any, j: Any) -> Any:
        left = a[r, i] if layout[0] == "t" else a[i, r]
        return te.sum(left * (b[j, r] if layout[1] == "t" else b[r, j]), axis=r)

    x, y = whole(tuple(map(int, a.shape)), 1), whole(tuple(map(int, b.shape)), 2)
    left, right = (x.T if layout[0] == "t" else x), (y.T if layout[1] == "t" else y)
    # 5 parts have 1200 steps each, 6 have fewer than 1024.
    check([a, b, te.compute((m, n), value, name="C")], [x, y], left @ right, 5)


def test_columns_and_their_extremes() -> None:
    a = te.placeholder((80_000, 14), "int32", name="A")
    k = te.reduce_axis((0, 80_000), name="k")
    x = whole((80_000, 14), 1, "int32")
    total = te.compute(
        (14,), lambda j: te.sum(a[k, j], axis=k, init=te.const(5, "int32")), name="B"
    )
    check([a, total], [x], x.sum(0, dtype="int32") + 5, 16)
    k = te.reduce_axis((0, 80_000), name="k")
    most = te.compute((14,), lambda j: te.max(a[k, j], axis=k, where=a[k, j] < 2), name="B")
    check([a, most], [x], np.where(x < 2, x, -9).max(0), 16)


def test_sums_over_all_axes_but_one() -> None:
    shape = (1, 30, 50, 30, 24)
    a = te.placeholder(shape, "float32", name="A")
    axes = [te.reduce_axis((0, s), name=f"r{i}") for i, s in enumerate(shape[:-1])]
    b = te.compute((24,), lambda c: te.sum(a[(*axes, c)], axis=axes), name="B")
    x = whole(shape, 1)
    check([a, b], [x], x.sum((0, 1, 2, 3)), 15)


def test_results_that_are_enough_stay_whole() -> None:
    for rows, columns in [(4001, 400), (7919, 300), (700, 1600)]:  # No cut, or enough columns.
        a = te.placeholder((rows, columns), "float32", name="A")
        k = te.reduce_axis((0, rows), name="k")
        b = te.compute((columns,), lambda j: te.sum(a[k, j], axis=k), name="B")  # noqa: B023
        module = ls.build([a, b])
        assert "_parts" not in module.source("tir")
        x, out = whole((rows, columns), 1), np.zeros(columns, "float32")
        module(x, out)
        np.testing.assert_array_equal(out, x.sum(0))
