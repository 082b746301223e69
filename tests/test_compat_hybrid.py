# SPDX-License-Identifier: Apache-2.0
"""Functions of loops under tvm.te.hybrid."""

# mypy: ignore-errors
# ruff: noqa: F821

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import loopsmith.compat
import numpy as np
import pytest

import loopsmith as ls

SCALE = 3


@pytest.fixture
def tvm() -> Iterator[Any]:
    was_there = loopsmith.compat.install()
    import tvm as module

    yield module
    if not was_there:
        loopsmith.compat.uninstall()


def test_an_outer_product_is_loops(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def outer_product(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in parallel(b.shape[0]):
                c[i, j] = a[i] * b[j] * SCALE
        return c

    a, b = tvm.te.placeholder((5,), name="a"), tvm.te.placeholder((7,), name="b")
    c = outer_product(a, b)
    assert c.shape == (5, 7) and c.op.name == "outer_product"
    x, y = np.arange(5, dtype="float32"), np.arange(7, dtype="float32")
    np.testing.assert_allclose(ls.build([a, b, c])(x, y), np.outer(x, y) * 3)
    # Without tensors it is a function of Python.
    np.testing.assert_allclose(outer_product(x, y), np.outer(x, y) * 3)


def test_memory_conditions_and_numbers_may_be_used(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def running(a, window):
        total = output_tensor(a.shape, "float32")
        largest = output_tensor((1,), "float32")
        parts = allocate((a.shape[0],), "float32", "local")
        for i in serial(a.shape[0]):
            parts[i] = 0.0
            for k in const_range(window):
                if i - k >= 0:
                    parts[i] = parts[i] + a[i - k]
        largest[0] = parts[0]
        for i in range(len(a)):
            total[i] = sqrt(max(parts[i], float32(0)))
            if parts[i] > largest[0]:
                largest[0] = parts[i]
            else:
                pass
        return total, largest

    a = tvm.te.placeholder((6,), name="a")
    total, largest = running(a, 2)
    x = np.array([1, 4, -2, 3, 0, 5], "float32")
    outputs = [np.zeros(6, "float32"), np.zeros(1, "float32")]
    ls.build([a, total, largest])(x, *outputs)
    sums = x + np.insert(x, 0, 0)[:-1]
    np.testing.assert_allclose(outputs[0], np.sqrt(sums.clip(0)), rtol=1e-6)
    assert outputs[1][0] == sums.max()


def test_sizes_may_be_variables(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def doubled(a):
        b = output_tensor((a.shape[0], 2), "float32")
        for i in range(a.shape[0]):
            for j in unroll(2):
                b[i, j] = a[i] * (j + 1)
        return b

    n = tvm.te.size_var("n")
    a = tvm.te.placeholder((n,), name="a")
    f = ls.build([a, doubled(a)])
    for count in (1, 5):
        x = np.arange(count, dtype="float32")
        np.testing.assert_allclose(f(x), np.stack([x, x * 2], -1))


def test_wrong_calls_are_refused(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def nothing(a):
        for i in range(a.shape[0]):
            a[i] = 0.0

    a = tvm.te.placeholder((3,), name="a")
    with pytest.raises(ValueError, match="nothing: a function returns all output tensors that it"):
        nothing(a)
    with pytest.raises(ValueError, match="nothing: 2 arguments are given, 1 are taken"):
        nothing(a, a)
    with pytest.raises(
        AttributeError, match=r"tvm\.te\.hybrid\.build is not provided: script reads"
    ):
        tvm.te.hybrid.build


def test_a_function_of_loops_runs_on_arrays(tvm: Any) -> None:
    @tvm.te.hybrid.script
    def scaled(a, n):
        b = output_tensor((4,), "float32")
        kept = allocate((4,), "float32")
        for i in parallel(4):
            kept[i] = sqrt(a[i])
        for i in range(ceil_div(n, 2)):
            b[i] = kept[i] * SCALE if likely(i < n) else sigmoid(a[i])
        b[3] = popcount(np.int32(-1)) + div(-7, 2)
        return b

    given = np.array([1, 4, 9, 16], "float32")
    np.testing.assert_allclose(scaled(given, 6), [3, 6, 9, 29])
