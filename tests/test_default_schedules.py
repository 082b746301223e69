# SPDX-License-Identifier: Apache-2.0
"""The default schedule is a schedule: it shows its steps, replays, goes on, and keeps results."""

from __future__ import annotations

import random
from typing import Callable, NamedTuple

import numpy as np
import pytest
from random_tensors import random_tensors

import loopsmith as ls
from loopsmith import te, tir

SHAPES = [(0, 5), (5, 0), (1, 1), (70, 1), (3, 8), (33, 47), (300, 512), (300, 517)]


def scaled(*shape: int):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) * 2, name="B")
    C = te.compute(shape, lambda *i: B(*i) + 1, name="C")
    return te.create_prim_func([A, C])


def replayed(sch: tir.Schedule, func: tir.PrimFunc) -> tir.Schedule:
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    return again


def test_the_default_schedule_shows_its_steps():
    sch = ls.default_schedule(scaled(1000, 1024))
    text = str(sch.trace)
    for step in ("compute_inline", "fuse", "split", "parallel", "vectorize"):
        assert f"sch.{step}(" in text


def test_the_trace_is_python_that_makes_the_same_program():
    func = scaled(100, 333)
    sch = ls.default_schedule(func)
    names: dict = {}
    exec(str(sch.trace), {"tir": tir, "T": ls.script.tir, "__name__": "trace"}, names)
    again = tir.Schedule(func)
    names["apply_trace"](again)
    ls.assert_structural_equal(again.mod, sch.mod)
    ls.assert_structural_equal(replayed(sch, func).mod, sch.mod)


@pytest.mark.parametrize(
    "init, update",
    [
        ("if v > 3: C[v, 0] = 1.0", "C[v, 0] = C[v, 0] + A[v, vk]"),
        ("C[7 - v, 0] = 1.0", "C[v, 0] = C[v, 0] + A[v, vk]"),
        ("C[v, 0] = 1.0", "C[v, 0] = C[v, 0] + A[v, vk]; D[v, 0] = D[v, 0] + A[v, vk]"),
        ("for j in range(2): C[v, j] = 1.0", "for j in range(4): C[v, j] = C[v, j] + A[v, vk]"),
    ],
)
def test_what_an_init_leaves_is_summed_up_from_what_was_there(init: str, update: str):
    func = ls.from_source(f"""
@T.prim_func
def sums(A: T.Buffer((8, 4)), C: T.Buffer((8, 4)), D: T.Buffer((8, 4))):
    for i, k in T.grid(8, 4):
        with T.block("C"):
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                {init}
            {update}
""")
    arrays = [np.random.rand(8, 4).astype("float32") for _ in range(3)]
    plain, scheduled = ([a.copy() for a in arrays] for _ in range(2))
    ls.build(func, default_schedule=False)(*plain)
    ls.build(func)(*scheduled)
    for wanted, found in zip(plain, scheduled):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_default_schedule_may_be_continued():
    func = scaled(64, 1000)
    sch = ls.default_schedule(func)
    block = sch.get_block("C")
    sch.annotate(sch.get_loops(block)[0], "mine", 1)
    a = np.random.rand(64, 1000).astype("float32")
    c = np.empty_like(a)
    ls.build(sch)(a, c)
    np.testing.assert_allclose(c, a * 2 + 1, rtol=1e-6)


def test_numbers_may_be_left_open():
    func = scaled(1000, 1024)
    sch = ls.default_schedule(func, holes=True)
    assert "sample_categorical" in str(sch.trace)
    closed = ls.default_schedule(func)
    assert [str(s) for s in closed.func.script().splitlines()] == sch.func.script().splitlines()


def test_a_schedule_has_no_default_schedule():
    sch = tir.Schedule(scaled(8))
    with pytest.raises(ls.TypeMismatch, match="default_schedule: x is a Schedule, not a function"):
        ls.default_schedule(sch)


class Family(NamedTuple):
    """A kind of program: what it computes of a matrix, here and by NumPy; the steps to be seen."""

    compute: Callable[[te.Tensor], te.Tensor]
    expected: Callable[[np.ndarray], np.ndarray]
    steps: tuple[str, ...]


def chain(A: te.Tensor) -> te.Tensor:
    B = te.compute(A.shape, lambda i, j: A[i, j] * 2, name="B")
    return te.compute(A.shape, lambda i, j: B[i, j] + 1, name="C")


def row_sums(A: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, A.shape[1]), "k")
    return te.compute((A.shape[0],), lambda i: te.sum(A[i, k], axis=k), name="S")


def row_maxima(A: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, A.shape[1]), "k")
    return te.compute((A.shape[0],), lambda i: te.max(A[i, k], axis=k), name="M")


def column_sums(A: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, A.shape[0]), "k")
    return te.compute((A.shape[1],), lambda j: te.sum(A[k, j], axis=k), name="S")


def whole_sum(A: te.Tensor) -> te.Tensor:
    i, j = te.reduce_axis((0, A.shape[0]), "i"), te.reduce_axis((0, A.shape[1]), "j")
    return te.compute((1,), lambda _: te.sum(A[i, j], axis=[i, j]), name="S")


def softmax(A: te.Tensor) -> te.Tensor:
    return te.nn.softmax(A)


def transpose(A: te.Tensor) -> te.Tensor:
    return te.compute((A.shape[1], A.shape[0]), lambda i, j: A[j, i] * 2, name="B")


def numpy_softmax(a: np.ndarray) -> np.ndarray:
    if a.size == 0:
        return a
    exponentials = np.exp(a - a.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def maxima(a: np.ndarray) -> np.ndarray:
    return a.max(axis=1, initial=np.finfo("float32").min)


FAMILIES = {
    "chain": Family(chain, lambda a: a * 2 + 1, ("compute_inline", "vectorize")),
    "row_sums": Family(row_sums, lambda a: a.sum(axis=1), ("rfactor", "merge", "vectorize")),
    "row_maxima": Family(row_maxima, maxima, ("rfactor", "merge", "vectorize")),
    "column_sums": Family(
        column_sums, lambda a: a.sum(axis=0), ("reorder", "decompose_reduction", "vectorize")
    ),
    "whole_sum": Family(whole_sum, lambda a: a.sum().reshape(1), ("rfactor", "parallel")),
    "transpose": Family(transpose, lambda a: a.T * 2, ("reorder", "vectorize", "parallel")),
    "softmax": Family(softmax, numpy_softmax, ("rfactor", "merge", "vectorize", "parallel")),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_has_its_steps(name: str):
    family = FAMILIES[name]
    A = te.placeholder((300, 512), name="A")
    text = str(ls.default_schedule([A, family.compute(A)]).trace)
    assert [step for step in family.steps if f"sch.{step}(" not in text] == []


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_computes_what_numpy_does(name: str, shape: tuple[int, int]):
    family = FAMILIES[name]
    A = te.placeholder(shape, name="A")
    func = te.create_prim_func([A, family.compute(A)])
    a = np.random.default_rng(0).standard_normal(shape).astype("float32")
    expected = family.expected(a)
    for kernel in (ls.build(func), ls.build(ls.default_schedule(func, holes=True))):
        found = np.full(expected.shape, np.nan, "float32")
        kernel(a, found)
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize("width", [7, 77, 100, 333, 1000, 4097])
def test_only_the_last_vectors_of_a_row_are_masked(width: int, dtype: str):
    A = te.placeholder((5, width), dtype, name="A")
    func = te.create_prim_func([A, row_sums(A)])
    sch = ls.default_schedule(func)
    assert "sch.rfactor(" in str(sch.trace)
    masked: list[str] = []

    def look(node: object) -> None:
        if isinstance(node, tir.For) and "predicate=" in str(node):
            masked.append(str(node))

    tir.post_order_visit(ls.lower(sch).body, look)
    # The loop over rows; none over vectors, but where there are two. Whole ones may be left over.
    lanes = ls.Target("llvm -mcpu=native").vector_bits // 8 // np.dtype(dtype).itemsize
    assert width <= 2 * lanes or len(masked) <= 1, masked
    assert width <= 2 * lanes or width % 2 == 0 or len(masked) == 1, masked
    a = np.random.default_rng(2).integers(-2, 3, (5, width)).astype(dtype)
    found = np.zeros(5, dtype)
    ls.build(func)(a, found)
    np.testing.assert_array_equal(found, a.sum(axis=1, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize("width", [9, 13, 88, 100, 333, 1001])
def test_columns_that_no_tile_covers_are_cut_off(width: int, dtype: str):
    """On a processor with vectors of 32 bytes."""
    target = "llvm -mcpu=x86-64-v3"
    for outer in ((), (6,)):
        A = te.placeholder((*outer, 50, width), dtype, name="A")
        k = te.reduce_axis((0, 50), "k")
        shape = (*outer, width)
        sums = te.compute(shape, lambda *i, A=A, k=k: te.sum(A(*i[:-1], k, i[-1]), axis=k))
        func = te.create_prim_func([A, sums])
        sch = ls.default_schedule(func, target)
        assert "sch.decompose_reduction(" in str(sch.trace), (width, outer)
        assert "predicate=" not in ls.lower(sch, target=target).script()
        ls.assert_structural_equal(replayed(sch, func).mod, sch.mod)
        a = np.random.default_rng(3).integers(-2, 3, A.shape).astype(dtype)
        found = np.zeros(shape, dtype)
        ls.interp.run(sch.func, a, found)
        np.testing.assert_array_equal(found, a.sum(axis=-2, dtype=dtype))
        again = np.zeros(shape, dtype)
        ls.build(func)(a, again)
        np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("across", ["", "A", "B", "AB"])
def test_products_are_packed_by_steps(dtype: str, across: str):
    """Operands named in `across` are stored transposed."""
    for rows, columns, depth in ((48, 64, 24), (61, 70, 9), (100, 333, 130), (250, 40, 1500)):
        A = te.placeholder((depth, rows) if "A" in across else (rows, depth), dtype, name="A")
        B = te.placeholder((columns, depth) if "B" in across else (depth, columns), dtype, name="B")
        k = te.reduce_axis((0, depth), "k")

        def product(i, j, A=A, B=B, k=k):
            a = A[k, i] if "A" in across else A[i, k]
            return te.sum(a * (B[j, k] if "B" in across else B[k, j]), axis=k)

        func = te.create_prim_func([A, B, te.compute((rows, columns), product, name="C")])
        sch = ls.default_schedule(func)
        assert "sch.cache_expression(" in str(sch.trace)
        ls.assert_structural_equal(replayed(sch, func).mod, sch.mod)
        numbers = np.random.default_rng(5)
        a = numbers.integers(-4, 5, A.shape).astype(dtype)
        b = numbers.integers(-4, 5, B.shape).astype(dtype)
        expected = (a.T if "A" in across else a) @ (b.T if "B" in across else b)
        for kernel in (ls.build(func), ls.build(ls.default_schedule(func, holes=True))):
            found = np.full((rows, columns), 77, dtype)
            kernel(a, b, found)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint8"])
@pytest.mark.parametrize("columns", [64, 71])
def test_operands_are_converted_as_they_are_packed(dtype: str, columns: int):
    A = te.placeholder((50, 33), "float32", name="A")
    B = te.placeholder((33, columns), dtype, name="B")
    k = te.reduce_axis((0, 33), "k")
    C = te.compute(
        (50, columns), lambda i, j: te.sum(A[i, k] * B[k, j].astype("float32"), axis=k), name="C"
    )
    func = te.create_prim_func([A, B, C])
    sch = ls.default_schedule(func)
    assert "sch.cache_expression(" in str(sch.trace)
    numbers = np.random.default_rng(6)
    a = numbers.integers(-4, 5, (50, 33)).astype("float32")
    b = numbers.integers(0, 5, (33, columns)).astype(dtype)
    found = np.full((50, columns), 77, "float32")
    ls.build(func)(a, b, found)
    np.testing.assert_array_equal(found, a @ b.astype("float32"))


@pytest.mark.parametrize("rows", [0, 1, 7, 61, 300])
@pytest.mark.parametrize(("columns", "depth"), [(64, 24), (70, 9), (40, 1500)])
def test_products_of_any_number_of_rows_are_right(rows: int, columns: int, depth: int):
    n = te.size_var("n")
    A = te.placeholder((n, depth), "float32", name="A")
    B = te.placeholder((depth, columns), "float32", name="B")
    k = te.reduce_axis((0, depth), "k")
    C = te.compute((n, columns), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    func = te.create_prim_func([A, B, C])
    numbers = np.random.default_rng(7)
    a = numbers.integers(-4, 5, (rows, depth)).astype("float32")
    b = numbers.integers(-4, 5, (depth, columns)).astype("float32")
    found = np.full((rows, columns), 77, "float32")
    ls.build(func)(a, b, found)
    np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize(
    "shape", [(0, 3, 2), (1, 1, 1), (4, 5, 3), (7, 40, 1), (300, 70, 2), (2, 3, 70)]
)
def test_chains_and_pictures_of_any_size_are_steps(shape: tuple[int, int, int]):
    sizes = [te.size_var(name) for name in ("rows", "columns", "channels")]
    A = te.placeholder(sizes, "int32", name="A")
    chain = te.compute(sizes, lambda *at: A(*at) * 2 + 1, name="chain")

    def neighbours(y: ls.tir.PrimExpr, x: ls.tir.PrimExpr, c: ls.tir.PrimExpr) -> ls.tir.PrimExpr:
        right = te.min(x + 1, sizes[1] - 1)
        return A[y, te.max(x - 1, 0), c] + A[y, right, c] * 10

    numbers = np.random.default_rng(3).integers(-9, 9, shape).astype("int32")
    padded = np.pad(numbers, ((0, 0), (1, 1), (0, 0)), "edge") if numbers.size else numbers
    wanted = [numbers * 2 + 1, padded[:, :-2] + padded[:, 2:] * 10 if numbers.size else numbers]
    for out, values in zip([chain, te.compute(sizes, neighbours, name="sum")], wanted, strict=True):
        func = te.create_prim_func([A, out])
        assert "wide=True" in str(ls.default_schedule(func).trace)
        found = np.full(shape, 77, "int32")
        ls.build(func)(numbers, found)
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("shape", [(0, 3, 40), (1, 1, 1), (4, 5, 128), (2, 0, 7), (3, 9, 300)])
def test_columns_of_any_number_are_steps(shape: tuple[int, int, int]):
    sizes = [te.size_var(name) for name in ("pictures", "rows", "columns")]
    A = te.placeholder(sizes, "int16", name="A")
    k = te.reduce_axis((0, sizes[1]), "k")
    y, x = te.reduce_axis((0, 2), "y"), te.reduce_axis((0, 3), "x")

    def neighbours(p: ls.tir.Var, i: ls.tir.Var, j: ls.tir.Var) -> ls.tir.PrimExpr:
        return te.max(A[p, i + y, j + x], axis=[y, x])

    sums = te.compute((sizes[0], sizes[2]), lambda p, j: te.sum(A[p, k, j], axis=k), name="sums")
    pooled = te.compute((sizes[0], sizes[1] - 1, sizes[2] - 2), neighbours, name="pooled")
    numbers = np.random.default_rng(3).integers(-9, 9, shape).astype("int16")
    wanted = [numbers.sum(axis=1, dtype="int16")]
    if shape[1] > 1 and shape[2] > 2:
        windows = np.lib.stride_tricks.sliding_window_view(numbers, (2, 3), axis=(1, 2))
        wanted.append(windows.max(axis=(3, 4)))
    for out, values in zip([sums, pooled], wanted, strict=False):
        func = te.create_prim_func([A, out])
        assert "align_end=" in str(ls.default_schedule(func).trace)
        found = np.full(values.shape, 77, "int16")
        ls.build(func)(numbers, found)
        np.testing.assert_array_equal(found, values)


def long_columns(rows: int, columns: int) -> list[te.Tensor]:
    A = te.placeholder((rows, columns), "int32", name="A")
    k = te.reduce_axis((0, rows), "k")
    return [A, te.compute((columns,), lambda j: te.sum(A[k, j], axis=k), name="S")]


def long_rows(rows: int, columns: int) -> list[te.Tensor]:
    A = te.placeholder((rows, columns), "int32", name="A")
    k = te.reduce_axis((0, columns), "k")
    return [A, te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="M")]


def long_product(rows: int, depth: int) -> list[te.Tensor]:
    A = te.placeholder((depth, 2 * rows), "int32", name="A")
    B = te.compute((depth, rows), lambda i, j: A[i, j + rows] * 2, name="B")
    k = te.reduce_axis((0, depth), "k")
    return [A, te.compute((rows, rows), lambda i, j: te.sum(A[k, i] * B[k, j], axis=k), name="P")]


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        (long_columns(1 << 17, 8), lambda a: a.sum(axis=0)),
        (long_rows(8, 1 << 17), lambda a: a.max(axis=1)),
        (long_product(20, 4096), lambda a: a[:, :20].T @ (a[:, 20:] * 2)),
    ],
    ids=["columns", "rows", "product"],
)
def test_long_reductions_to_few_results_are_steps_in_parts(tensors, expected):
    func = te.create_prim_func(tensors)
    sch = ls.default_schedule(func)
    assert "sch.rfactor(" in str(sch.trace)
    text = sch.func.script()
    assert text.index("T.parallel(") < text.index('_rf_init")'), text
    ls.assert_structural_equal(replayed(sch, func).mod, sch.mod)
    a = np.random.default_rng(7).integers(-9, 10, tensors[0].shape).astype("int32")
    wanted = expected(a)
    for num_threads in (1, 3):
        found = np.full(wanted.shape, 77, "int32")
        ls.build(func, num_threads=num_threads)(a, found)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_runs_for_sizes_that_are_known_at_run_time(name: str):
    family = FAMILIES[name]
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    kernel = ls.build([A, family.compute(A)])
    for shape in SHAPES:
        a = np.random.default_rng(1).standard_normal(shape).astype("float32")
        expected = family.expected(a)
        found = np.full(expected.shape, np.nan, "float32")
        kernel(a, found)
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-4, err_msg=str(shape))


@pytest.mark.parametrize("group", range(4))
def test_default_schedules_of_random_tensors_keep_results(group: int):
    """Integers, so that each order of a sum gives the same."""
    compared = 0
    for seed in range(5000 + group, 5080, 4):
        drawn = random_tensors(random.Random(seed))
        if not drawn:
            continue
        sch = ls.default_schedule(drawn.func, holes=seed % 2 == 0)
        ls.assert_structural_equal(replayed(sch, drawn.func).mod, sch.mod)
        numbers = np.random.default_rng(seed)
        inputs = [numbers.integers(-9, 10, shape).astype(drawn.dtype) for shape in drawn.inputs]
        expected = [np.zeros(shape, drawn.dtype) for shape in drawn.outputs]
        found = [np.zeros(shape, drawn.dtype) for shape in drawn.outputs]
        ls.interp.run(drawn.func, *inputs, *expected)
        ls.interp.run(sch.func, *inputs, *found)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"seed {seed}")
        compared += 1
    assert compared > 5


@pytest.mark.parametrize(("size", "window"), [(33, 3), (64, 5), (112, 3)])
def test_masks_of_padded_windows_are_constants(size: int, window: int):
    """On a processor with vectors of 32 bytes; only the lanes at the ends of rows are masked."""
    pad = window // 2
    x = te.placeholder((6, size, size), name="X")
    w = te.placeholder((6, window, window), name="W")
    p, q = (te.reduce_axis((0, window), name) for name in "pq")

    def padded(c: tir.Expr, y: tir.Expr, z: tir.Expr) -> tir.Expr:
        inside = te.all(y >= pad, y < size + pad, z >= pad, z < size + pad)
        return te.if_then_else(inside, x[c, y - pad, z - pad], 0.0)

    wide = te.compute((6, size + 2 * pad, size + 2 * pad), padded, name="padded")
    out = te.compute(
        (6, size, size),
        lambda c, y, z: te.sum(wide[c, y + p, z + q] * w[c, p, q], axis=[p, q]),
        name="Y",
    )
    func = te.create_prim_func([x, w, out])
    sch = ls.default_schedule(func, "llvm -mcpu=x86-64-v3")
    assert [step for step in str(sch.trace).splitlines() if "sch.unroll(" in step]
    lowered = ls.lower(sch, target="llvm -mcpu=x86-64-v3").script()
    assert f"q in range({window})" not in lowered
    a = np.random.default_rng(0).integers(-3, 4, (6, size, size)).astype("float32")
    b = np.random.default_rng(1).integers(-3, 4, (6, window, window)).astype("float32")
    found = np.full((6, size, size), np.nan, np.float32)
    ls.build(func)(a, b, found)
    rows = np.pad(a, ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(rows, (window, window), axis=(1, 2))
    np.testing.assert_array_equal(found, np.einsum("cyzpq,cpq->cyz", windows, b))


def test_a_nest_of_open_sizes_is_proved_to_run_concurrently() -> None:
    rows, columns, depth = te.size_var("rows"), te.size_var("columns"), te.size_var("depth")
    open_sizes = [(rows, columns), (rows, columns, depth), (rows, 50000), (rows, 4, 50000)]
    for shape in [*open_sizes, (50000, 50000)]:
        a = te.placeholder(shape, name="A")
        doubled = te.compute(shape, lambda *at, a=a: a(*at) * 2.0, name="B")
        trace = str(ls.default_schedule(te.create_prim_func([a, doubled])).trace)
        assert "sch.parallel(" in trace
        assert "assume_independent=True" not in trace


def test_narrowed_digits_tell_loops_apart_where_nothing_is_lost() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a = te.placeholder((n, m), name="A")
    func = te.create_prim_func([a, te.compute((n, m), lambda i, j: a[i, j] + 1.0, name="B")])
    sch = tir.Schedule(func)
    fused = sch.fuse(*sch.get_loops(sch.get_block("B")), wide=True)
    outer, _ = sch.split(fused, [None, 4096])
    sch.parallel(outer)
    # Where the cast may lose bits, two iterations may conflict.
    wrapped = ls.from_source("""
@T.prim_func
def main(B: T.Buffer((256,), "int32"), n: T.int64):
    for f in range(n):
        with T.block("B"):
            vf = T.axis.spatial(256, T.Cast("int32", T.Cast("int8", f)) + 128)
            B[vf] = 1
""")
    assert not tir.Schedule(wrapped).can_apply("parallel", "f")
