# SPDX-License-Identifier: Apache-2.0
"""Unscheduled matrix products, and what has their form, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te

SHAPES = [
    (1, 1, 1), (9, 17, 3), (64, 64, 64), (20, 7, 5), (33, 49, 1100), (100, 48, 2100), (130, 200, 1)
]  # fmt: skip
LAYOUTS = ["nn", "tn", "nt", "tt"]


def product(rows, columns, depth, dtype="float32", layout="nn", batch=(), result=None):
    """C = A @ B; `layout` says which operand is stored transposed, `batch` is before its shape."""
    a_shape = (depth, rows) if layout[0] == "t" else (rows, depth)
    b_shape = (columns, depth) if layout[1] == "t" else (depth, columns)
    a = te.placeholder((*batch, *a_shape), dtype, name="A")
    b = te.placeholder((*batch, *b_shape), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")

    def element(*indices):
        *outer, i, j = indices
        x = a[(*outer, k, i) if layout[0] == "t" else (*outer, i, k)]
        y = b[(*outer, j, k) if layout[1] == "t" else (*outer, k, j)]
        if result:
            x, y = x.astype(result), y.astype(result)
        return te.sum(x * y, axis=k)

    return [a, b, te.compute((*batch, rows, columns), element, name="C")]


def draw(shape, dtype, seed):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    return generator.integers(-8 if np.dtype(dtype).kind == "i" else 0, 8, shape).astype(dtype)


def check(module, rows, columns, depth, dtype="float32", layout="nn", batch=(), result=None):
    a = draw((*batch, depth, rows) if layout[0] == "t" else (*batch, rows, depth), dtype, 1)
    b = draw((*batch, columns, depth) if layout[1] == "t" else (*batch, depth, columns), dtype, 2)
    c = np.full((*batch, rows, columns), 77, result or dtype)
    module(a, b, c)
    left = np.swapaxes(a, -1, -2) if layout[0] == "t" else a
    right = np.swapaxes(b, -1, -2) if layout[1] == "t" else b
    exact = np.dtype(dtype).kind != "f"
    expected = left.astype("int64" if exact else "float64") @ right
    if exact:
        np.testing.assert_array_equal(c, expected.astype(c.dtype))
    else:
        assert np.abs(c - expected).max() / depth < 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_product_of_each_shape_and_layout(shape, layout):
    check(ls.build(product(*shape, layout=layout)), *shape, layout=layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("dtype", "result"), [("float64", None), ("int8", "int32"), ("uint16", None)]
)
def test_product_of_each_type(dtype, result, layout):
    shape = (41, 70, 19)
    module = ls.build(product(*shape, dtype, layout, result=result))
    check(module, *shape, dtype, layout, result=result)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_product_of_a_batch(layout):
    shape = (3, 2), (25, 33, 18)
    module = ls.build(product(*shape[1], layout=layout, batch=shape[0]))
    check(module, *shape[1], layout=layout, batch=shape[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_product_of_symbolic_sizes(layout):
    n, m, p = te.size_var("n"), te.size_var("m"), te.size_var("p")
    module = ls.build(product(n, m, p, layout=layout))
    for shape in [(1, 1, 1), (5, 100, 17), (64, 64, 64), (70, 33, 1500)]:
        check(module, *shape, layout=layout)


def test_product_of_symbolic_depth_zero_is_zero():
    n = te.size_var("n")
    module = ls.build(product(20, 40, n))
    c = np.full((20, 40), 7, "float32")
    module(np.zeros((20, 0), "float32"), np.zeros((0, 40), "float32"), c)
    assert not c.any()


@pytest.mark.parametrize("sizes", [(0, 8, 8), (8, 0, 8), (8, 8, 0), (0, 128, 4), (0, 0, 8)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_product_without_rows_columns_or_steps(layout, sizes):
    check(ls.build(product(*sizes, "int32", layout)), *sizes, "int32", layout)


def test_product_does_not_depend_on_the_number_of_threads():
    a, b = draw((150, 1300), "float32", 1), draw((1300, 170), "float32", 2)
    results = []
    for num_threads in (1, 2, 3):
        c = np.zeros((150, 170), "float32")
        ls.build(product(150, 170, 1300), num_threads=num_threads)(a, b, c)
        results.append(c)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_operand_shared_by_a_batch():
    a = te.placeholder((6, 5, 40), "float32", name="A")
    b = te.placeholder((40, 50), "float32", name="B")
    k = te.reduce_axis((0, 40), name="k")
    c = te.compute((6, 5, 50), lambda n, i, j: te.sum(a[n, i, k] * b[k, j], axis=k), name="C")
    x, y, out = (
        draw((6, 5, 40), "float32", 1),
        draw((40, 50), "float32", 2),
        np.zeros((6, 5, 50), "float32"),
    )
    ls.build([a, b, c])(x, y, out)
    np.testing.assert_allclose(out, x @ y, atol=1e-5)


def test_operand_that_is_read_only_where_it_is():
    # A convolution whose border is a condition inside the sum.
    a = te.placeholder((20, 30), "float32", name="A")
    w = te.placeholder((9, 3, 3), "float32", name="W")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")

    def term(o, y, x):
        inside = te.all(y + ry >= 1, y + ry < 21, x + rx >= 1, x + rx < 31)
        return te.if_then_else(inside, a[y + ry - 1, x + rx - 1], 0.0) * w[o, ry, rx]

    b = te.compute((9, 20, 30), lambda o, y, x: te.sum(term(o, y, x), axis=[ry, rx]), name="B")
    x, y, out = (
        draw((20, 30), "float32", 1),
        draw((9, 3, 3), "float32", 2),
        np.zeros((9, 20, 30), "float32"),
    )
    ls.build([a, w, b])(x, y, out)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 1), (3, 3))
    np.testing.assert_allclose(out, np.einsum("yxuv,ouv->oyx", windows, y), atol=1e-5)


def test_operand_read_only_for_some_rows_is_not_copied():
    # Of row i only the first i + 1 elements are there.
    a = te.placeholder((40, 40), "float32", name="A")
    b = te.placeholder((41, 50), "float32", name="B")
    k = te.reduce_axis((0, 80), name="k")
    c = te.compute(
        (40, 50),
        lambda i, j: te.sum(te.if_then_else(k <= i, a[i, k] * b[k, j], 0.0), axis=k),
        name="C",
    )
    x, y, out = (
        draw((40, 40), "float32", 1),
        draw((41, 50), "float32", 2),
        np.zeros((40, 50), "float32"),
    )
    ls.build([a, b, c])(x, y, out)
    np.testing.assert_allclose(out, np.tril(x) @ y[:40], atol=1e-5)


def test_division_by_an_operand_of_a_border():
    # 17 columns: what stands beyond them in a vector must not be zero.
    a = te.placeholder((40, 9), "int32", name="A")
    b = te.placeholder((9, 17), "int32", name="B")
    k = te.reduce_axis((0, 9), name="k")
    c = te.compute(
        (40, 17), lambda i, j: te.sum(te.truncdiv(a[i, k], b[k, j] - 1), axis=k), name="C"
    )
    x, y = draw((40, 9), "int32", 1), np.full((9, 17), 3, "int32")
    out = np.zeros((40, 17), "int32")
    ls.build([a, b, c])(x, y, out)
    expected = np.trunc(x / 2).astype("int32").sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))


@pytest.mark.parametrize("depth", [30, 1100])
def test_combiners_other_than_sums(depth):
    a = te.placeholder((40, depth), "float32", name="A")
    b = te.placeholder((depth, 50), "float32", name="B")
    k = te.reduce_axis((0, depth), name="k")
    nearest = te.compute((40, 50), lambda i, j: te.min(a[i, k] + b[k, j], axis=k), name="C")
    x, y, out = (
        draw((40, depth), "float32", 1),
        draw((depth, 50), "float32", 2),
        np.zeros((40, 50), "float32"),
    )
    ls.build([a, b, nearest])(x, y, out)
    np.testing.assert_array_equal(out, (x[:, :, None] + y[None]).min(axis=1))


@pytest.mark.parametrize("depth", [30, 1100])
def test_reducers_of_tuples(depth):
    def combine(x, y):
        is_first = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] <= y[0]))
        return te.select(is_first, x[0], y[0]), te.select(is_first, x[1], y[1])

    argmax = te.comm_reducer(
        combine, lambda i, v: (te.const(2**31 - 1, i), te.min_value(v)), name="argmax"
    )
    a = te.placeholder((20, depth), "float32", name="A")
    b = te.placeholder((depth, 37), "float32", name="B")
    k = te.reduce_axis((0, depth), name="k")
    where, top = te.compute(
        (20, 37), lambda i, j: argmax((k.var, a[i, k] * b[k, j]), axis=k), name="C"
    )
    x, y = draw((20, depth), "float32", 1), draw((depth, 37), "float32", 2)
    places, values = np.zeros((20, 37), "int32"), np.zeros((20, 37), "float32")
    ls.build([a, b, where, top])(x, y, places, values)
    products = x[:, :, None] * y[None]
    np.testing.assert_array_equal(places, products.argmax(axis=1))
    np.testing.assert_array_equal(values, products.max(axis=1))


def test_product_then_an_elementwise_end():
    a, b, c = product(48, 65, 33, layout="nt")
    d = te.compute((48, 65), lambda i, j: te.select(c[i, j] > 0.0, c[i, j], 0.0) + 1.0, name="D")
    x, y, out = (
        draw((48, 33), "float32", 1),
        draw((65, 33), "float32", 2),
        np.zeros((48, 65), "float32"),
    )
    ls.build([a, b, d])(x, y, out)
    np.testing.assert_allclose(out, np.maximum(x @ y.T, 0) + 1, atol=1e-5)


@pytest.mark.parametrize("target", ["native", "haswell", "x86-64"])
@pytest.mark.parametrize(
    ("dtype", "result"),
    [("float32", None), ("float64", None), ("float16", "float32"), ("int8", "int32")],
)
def test_columns_that_fill_no_vector(target, dtype, result):
    for batch, m, n, k in [(40, 8, 8, 8), (3, 2, 6, 4), (4, 5, 2, 3), (7, 3, 5, 30)]:
        form = {"dtype": dtype, "batch": (batch,), "result": result}
        module = ls.build(product(m, n, k, **form), target=ls.Target(f"llvm -mcpu={target}"))
        check(module, m, n, k, **form)
        assert n != 8 or "predicate" not in module.source("tir")
