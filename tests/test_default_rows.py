# SPDX-License-Identifier: Apache-2.0
"""Default schedules of rows: values of a row between passes, long rows, few rows."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


@pytest.mark.parametrize("width", [3, 16, 100])
@pytest.mark.parametrize("then_once_more", [False, True])
def test_what_is_computed_once_for_a_row_joins_its_passes(width: int, then_once_more: bool):
    rows = 70
    A = te.placeholder((rows, width), name="A")
    k, m = te.reduce_axis((0, width), "k"), te.reduce_axis((0, width), "m")
    total = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="total")
    mean = te.compute((rows,), lambda i: te.exp(total[i] * (1 / width)), name="mean")
    top = te.compute((rows,), lambda i: te.max(A[i, m], axis=m), name="top")
    scale = te.compute((rows,), lambda i: te.sqrt(top[i] + mean[i] + 1.0), name="scale")
    B = te.compute((rows, width), lambda i, j: (A[i, j] - mean[i]) * scale[i], name="B")
    outputs = [B]
    if then_once_more:  # What no pass over a row follows stays a loop over rows in vectors.
        outputs.append(te.compute((rows,), lambda i: te.exp(scale[i]), name="C"))
    func = te.create_prim_func([A, *outputs])
    lowered = ls.lower(ls.default_schedule(func)).script().splitlines()
    nests = sum(line.startswith("    for ") for line in lowered)
    # Rows that are shorter than a vector are side by side in vectors, stage by stage.
    assert nests == 1 + then_once_more if width > 3 else nests > 3
    a = np.random.default_rng(0).random((rows, width), "float32")
    found = [np.full((rows, width), np.nan, "float32"), np.full((rows,), np.nan, "float32")]
    ls.build(func)(a, *found[: len(outputs)])
    means = np.exp(a.mean(1, keepdims=True))
    scales = np.sqrt(a.max(1, keepdims=True) + means + 1)
    np.testing.assert_allclose(found[0], (a - means) * scales, rtol=1e-5, atol=1e-6)
    if then_once_more:
        np.testing.assert_allclose(found[1], np.exp(scales[:, 0]), rtol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(1003, 8192), (2048, 8192), (1029, 8200)])
@pytest.mark.parametrize("combine", ["sum", "max", "product"])
def test_long_rows_that_no_cache_holds_are_read_along_rows(rows: int, columns: int, combine: str):
    x = te.placeholder((rows,), name="x")
    B = te.placeholder((rows, columns), name="B")
    k = te.reduce_axis((0, rows), name="k")
    elements = {
        "sum": lambda j: te.sum(B[k, j], axis=k),
        "max": lambda j: te.max(B[k, j], axis=k),
        "product": lambda j: te.sum(x[k] * B[k, j], axis=k),
    }
    tensors = [x, B, te.compute((columns,), elements[combine], name="C")]
    if combine != "product":
        tensors = tensors[1:]
    func = te.create_prim_func(tensors)
    sch = ls.default_schedule(func, num_threads=2)
    # Eight rows at a time; a tile down the columns would take one after another.
    assert "factors=[None, 8]" in str(sch.trace)
    numbers = np.random.default_rng(rows)
    b = numbers.integers(-8, 9, (rows, columns)).astype("float32")
    a = numbers.integers(-8, 9, rows).astype("float32")
    c = np.full(columns, np.nan, "float32")
    wanted = {"sum": b.sum(0), "max": b.max(0), "product": a @ b}[combine]
    ls.build(sch)(*([a] if combine == "product" else []), b, c)
    np.testing.assert_array_equal(c, wanted)


def test_long_rows_of_several_matrices_are_read_along_rows():
    B = te.placeholder((3, 1029, 8192), name="B")
    k = te.reduce_axis((0, 1029), name="k")
    C = te.compute((3, 8192), lambda i, j: te.sum(B[i, k, j], axis=k), name="C")
    sch = ls.default_schedule(te.create_prim_func([B, C]), num_threads=2)
    assert len(sch.get_loops("C_update")) == 5  # Matrices and strips are one loop.
    b = np.random.default_rng(0).integers(-8, 9, (3, 1029, 8192)).astype("float32")
    c = np.full((3, 8192), np.nan, "float32")
    ls.build(sch)(b, c)
    np.testing.assert_array_equal(c, b.sum(1))


def test_rows_that_are_read_again_are_left_in_tiles():
    # Each of four rows of A is multiplied by the same B, which would come from memory four times.
    A, B = te.placeholder((4, 1024), name="A"), te.placeholder((1024, 8192), name="B")
    k = te.reduce_axis((0, 1024), name="k")
    C = te.compute((4, 8192), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    func = te.create_prim_func([A, B, C])
    sch = ls.default_schedule(func, target="llvm -mcpu=znver4", num_threads=2)
    assert "factors=[None, 8]" not in str(sch.trace)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "steps"), [(2, 3001), (5, 3008), (8, 3001)])
def test_few_rows_load_each_vector_of_a_large_matrix_once(rows: int, steps: int, dtype: str):
    columns = 2048
    A, B = te.placeholder((rows, steps), dtype, name="A"), te.placeholder((steps, columns), dtype)
    k = te.reduce_axis((0, steps), name="k")
    C = te.compute((rows, columns), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    func = te.create_prim_func([A, B, C])
    sch = ls.default_schedule(func, num_threads=2)
    text = str(sch.trace)
    # A lies by its columns, sums in vectors of all rows.
    assert text.count("sch.transform_layout(") == 2 and "sch.prefetch(" in text
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    ls.assert_structural_equal(again.mod, sch.mod)
    numbers = np.random.default_rng(rows)
    a = numbers.integers(-8, 9, (rows, steps)).astype(dtype)
    b = numbers.integers(-8, 9, (steps, columns)).astype(dtype)
    c = np.full((rows, columns), np.nan, dtype)
    ls.build(sch)(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_few_rows_that_lie_by_their_columns_are_not_copied():
    A, B = te.placeholder((3001, 5), name="A"), te.placeholder((3001, 2048), name="B")
    k = te.reduce_axis((0, 3001), name="k")
    C = te.compute((5, 2048), lambda i, j: te.sum(A[k, i] * B[k, j], axis=k), name="C")
    sch = ls.default_schedule(te.create_prim_func([A, B, C]), num_threads=2)
    assert "sch.cache_read(" not in str(sch.trace) and "sch.prefetch(" in str(sch.trace)
    numbers = np.random.default_rng(5)
    a, b = (numbers.integers(-8, 9, (3001, n)).astype("float32") for n in (5, 2048))
    c = np.full((5, 2048), np.nan, "float32")
    ls.build(sch)(a, b, c)
    np.testing.assert_array_equal(c, a.T @ b)
