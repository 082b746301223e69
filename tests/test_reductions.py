# SPDX-License-Identifier: Apache-2.0
"""Reductions in parallel, over nothing, and with NaN, against NumPy and the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T

IDENTITY = {"sum": 0.0, "max": np.finfo("float32").min, "min": np.finfo("float32").max}


def row_reduction(kind: str, rows: object, columns: object) -> tir.PrimFunc:
    """Return B[i] = sum, max or min over k of A[i, k]."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), name="k")
    b = te.compute((rows,), lambda i: getattr(te, kind)(a[i, k], axis=k), name="B")
    return te.create_prim_func([a, b])


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("columns", [100, 1000, 37])
def test_a_reduction_runs_in_parallel_parts(kind: str, columns: int):
    func = row_reduction(kind, 3, columns)
    sch = tir.Schedule(func)
    sch.parallel(sch.get_loops("B")[1])
    ls.assert_same(func, sch.func)
    a = np.random.default_rng(0).uniform(-1, 1, (3, columns)).astype("float32")
    b = np.zeros(3, "float32")
    ls.build(sch)(a, b)
    expected = getattr(np, kind)(a.astype("float64"), axis=1)
    np.testing.assert_allclose(b, expected, rtol=1e-5, atol=1e-5)


def test_results_do_not_depend_on_the_number_of_threads():
    n = te.size_var("n")
    sch = tir.Schedule(row_reduction("sum", 1, n))
    sch.parallel(sch.get_loops("B")[1])
    a = np.random.default_rng(0).uniform(-1, 1, (1, 100_003)).astype("float32")
    results = []
    for threads in (1, 2, 3):
        b = np.zeros(1, "float32")
        ls.build(sch, num_threads=threads)(a, b)
        results.append(b[0])
    assert results[0] == results[1] == results[2]
    np.testing.assert_allclose(results[0], a.astype("float64").sum(), rtol=1e-3)


def test_an_inner_reduction_keeps_its_partial_results_small():
    a = te.placeholder((8, 64), "int32", name="A")
    b = te.placeholder((64, 16), "int32", name="B")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((8, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    func = te.create_prim_func([a, b, c])
    sch = tir.Schedule(func)
    _, j, loop = sch.get_loops("C")
    sch.reorder(loop, j)
    sch.parallel(loop)
    ls.assert_same(func, sch.func)
    x = np.arange(8 * 64, dtype="int32").reshape(8, 64)
    y = np.arange(64 * 16, dtype="int32").reshape(64, 16)
    z = np.zeros((8, 16), "int32")
    ls.build(sch)(x, y, z)
    np.testing.assert_array_equal(z, x @ y)


def test_the_place_of_a_maximum_is_found_in_parallel():
    @T.prim_func
    def argmax(A: T.Buffer((500,), "float32"), I: T.Buffer((1,), "int32")):  # noqa: E741
        V = T.alloc_buffer((1,), "float32")
        for k in range(500):
            with T.block("top"):
                vk = T.axis.reduce(500, k)
                with T.init():
                    I[0] = -1
                    V[0] = T.min_value("float32")
                first: T.bool = V[0] > A[vk] or (V[0] == A[vk] and I[0] <= vk)
                index: T.int32 = T.Select(first, I[0], vk)
                value: T.float32 = T.Select(first, V[0], A[vk])
                I[0] = index
                V[0] = value

    sch = tir.Schedule(argmax)
    sch.parallel(sch.get_loops("top")[0])
    ls.assert_same(argmax, sch.func)
    a = np.random.default_rng(3).integers(0, 20, 500).astype("float32")
    place = np.zeros(1, "int32")
    ls.build(sch)(a, place)
    assert place[0] == a.argmax()


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("target", ["llvm -mcpu=native", "c"])
@pytest.mark.parametrize("scheduled", ["by rule", "as written", "in parallel"])
def test_a_reduction_over_nothing_gives_its_start(kind: str, target: str, scheduled: str):
    func = row_reduction(kind, te.size_var("m"), te.size_var("n"))
    if scheduled == "in parallel":
        sch = tir.Schedule(func)
        sch.parallel(sch.get_loops("B")[1])
        func = sch.func
    f = ls.build(func, target=target, default_schedule=scheduled == "by rule")
    for rows in (0, 1, 5):
        a, b = np.zeros((rows, 0), "float32"), np.full(rows, 7, "float32")
        f(a, b)
        np.testing.assert_array_equal(b, np.full(rows, IDENTITY[kind], "float32"))


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_carry_nan_from_any_place(kind: str, dtype: str):
    columns = 137
    a = te.placeholder((columns, columns), dtype, name="A")
    k = te.reduce_axis((0, columns), name="k")
    b = te.compute((columns,), lambda i: getattr(te, kind)(a[i, k], axis=k), name="B")
    x = np.random.default_rng(0).standard_normal((columns, columns)).astype(dtype)
    np.fill_diagonal(x, np.nan)
    x[5, 5] = 1
    y = np.zeros(columns, dtype)
    ls.build([a, b])(x, y)
    np.testing.assert_array_equal(y, getattr(np, kind)(x, axis=1))
    assert np.isnan(y).sum() == columns - 1


@pytest.mark.parametrize("offset", [0, 1, 3, 4, 9])
def test_large_results_are_written_past_the_caches_wherever_they_start(offset: int):
    count = (1 << 23) + 1000  # Above the limit of the default schedule: 32 MiB.
    a = te.placeholder((count,), "float32", name="A")
    f = ls.build([a, te.compute((count,), lambda i: a[i] + 1.0, name="B")])
    assert "nontemporal" in f.inspect().ir
    x = np.arange(count, dtype="float32")
    room = np.full(count + 32, -1, "float32")
    f(x, room[offset : offset + count])
    np.testing.assert_array_equal(room[offset : offset + count], x + 1)
    assert (room[:offset] == -1).all() and (room[offset + count :] == -1).all()


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("is_atomic", [False, True])
def test_a_histogram_is_counted_in_parallel(is_atomic: bool, dtype: str, target: str):
    func = ls.from_source(f"""
@T.prim_func
def histogram(X: T.Buffer((100000,), "int32"), H: T.Buffer((16,), "{dtype}")):
    for i in range(100000):
        with T.block("H"):
            vi = T.axis.reduce(100000, i)
            H[X[vi]] = H[X[vi]] + T.{dtype}(1)
""")
    sch = tir.Schedule(func)
    outer, _ = sch.split(sch.get_loops("H")[0], [64, None])
    if is_atomic:
        sch.atomic(outer)
    else:
        sch.parallel(outer)
    assert ("atomic_add" in ls.lower(sch).script()) == is_atomic
    given = np.random.default_rng(4).integers(0, 16, 100000).astype("int32")
    counts = np.zeros(16, dtype)
    for _ in range(3):
        counts[:] = 0
        ls.build(sch, target)(given, counts)
        np.testing.assert_array_equal(counts, np.bincount(given, minlength=16))


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["int32", "uint64"])
@pytest.mark.parametrize("kind", ["min", "max", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_extremes_and_bits_are_updated_atomically(kind: str, dtype: str, target: str):
    func = ls.from_source(f"""
@T.prim_func
def buckets(X: T.Buffer((5000,), "{dtype}"), H: T.Buffer((16,), "{dtype}")):
    for i in range(5000):
        with T.block("H"):
            vi = T.axis.reduce(5000, i)
            H[X[vi] % T.{dtype}(16)] = T.{kind}(X[vi], H[X[vi] % T.{dtype}(16)])
""")
    sch = tir.Schedule(func)
    sch.atomic(sch.get_loops("H")[0])
    assert "atomic_" in ls.lower(sch).script()
    given = np.random.default_rng(4).integers(0, 1 << 30, 5000).astype(dtype)
    start = np.full(16, 1 << 29, dtype)
    combine = {"min": np.minimum, "max": np.maximum}.get(kind) or getattr(np, kind)
    expected = start.copy()
    combine.at(expected, given % 16, given)
    ls.build(sch, target)(given, start)
    np.testing.assert_array_equal(start, expected)


SUMS = {
    "a sum without blocks": (
        """
    for k in range(1000):
        C[0] = C[0] + A[k, 0] - A[k, 1]
""",
        lambda a, x, c: np.add.at(c, [0] * 1000, a[:, 0] - a[:, 1]),
    ),
    "maxima of some columns": (
        """
    for k in range(1000):
        for j in range(k % 7):
            C[j] = T.max(C[j], A[k, j])
""",
        lambda a, x, c: [np.maximum.at(c, range(k % 7), a[k, : k % 7]) for k in range(1000)],
    ),
    "a histogram of weights": (
        """
    for k in range(1000):
        C[X[k]] = C[X[k]] + A[k, 2]
""",
        lambda a, x, c: np.add.at(c, x, a[:, 2]),
    ),
    "a copy in the loop": (
        """
    L = T.alloc_buffer((8,), "float32")
    for k in range(1000):
        for i in range(8):
            with T.block("L"):
                vk, vi = T.axis.remap("SS", [k, i])
                L[vi] = A[vk, vi] * A[vk, vi]
        for j in range(8):
            with T.block("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vj] = T.float32(0)
                C[vj] = C[vj] + L[7 - vj]
""",
        lambda a, x, c: np.copyto(c, (a[:, ::-1] ** 2).sum(0)),
    ),
}


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("name", SUMS)
def test_any_reduction_runs_in_parallel(name: str, target: str):
    lines, compute = SUMS[name]
    func = ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer((1000, 8)), X: T.Buffer((1000,), "int32"), C: T.Buffer((8,))):
{lines}""")
    sch = tir.Schedule(func)
    sch.parallel("k")
    rng = np.random.default_rng(3)
    a, x = rng.random((1000, 8), "float32"), rng.integers(0, 8, 1000).astype("int32")
    first, expected = rng.random(8, "float32"), None
    expected = first.copy()
    compute(a, x, expected)
    results = []
    for threads in (1, 2):
        c = first.copy()
        ls.build(sch, target, num_threads=threads)(a, x, c)
        results.append(c)
    np.testing.assert_allclose(results[0], expected, rtol=1e-4)
    np.testing.assert_array_equal(results[0], results[1])  # Whatever the number of threads.


def test_lanes_have_memory_of_their_own_or_share_what_is_alike():
    for row, index in (("A[vi, vk]", "vi"), ("A[0, vk]", "0")):
        func = ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer((16, 24)), C: T.Buffer((16, 24))):
    L = T.alloc_buffer((24,))
    for i in range(16):
        for k in range(24):
            with T.block("L"):
                vi, vk = T.axis.remap("SS", [i, k])
                L[vk] = {row} * T.float32(2)
        for k in range(24):
            with T.block("C"):
                vi, vk = T.axis.remap("SS", [i, k])
                C[vi, vk] = L[23 - vk] + A[vi, vk]
""")
        sch = tir.Schedule(func)
        sch.vectorize(sch.get_loops("C")[0])
        assert sch.verify()
        a = np.random.default_rng(1).random((16, 24), "float32")
        source = a if index == "vi" else a[:1]
        for target in ("llvm", "c"):
            c = np.zeros_like(a)
            ls.build(sch, target)(a, c)
            np.testing.assert_allclose(c, source[:, ::-1] * 2 + a, rtol=1e-6)


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("place", ["X[i]", "i // 8"])
def test_lanes_that_share_an_element_all_add_to_it(place: str, target: str):
    func = ls.from_source(f"""
@T.prim_func
def main(X: T.Buffer((64,), "int32"), A: T.Buffer((64,)), H: T.Buffer((8,))):
    for i in range(64):
        H[{place}] = H[{place}] + A[i]
""")
    sch = tir.Schedule(func)
    sch.vectorize("i")
    rng = np.random.default_rng(2)
    x, a = rng.integers(0, 8, 64).astype("int32"), rng.random(64, "float32")
    sums, expected = np.zeros(8, "float32"), np.zeros(8, "float32")
    np.add.at(expected, x if place == "X[i]" else np.arange(64) // 8, a)
    ls.build(sch, target)(x, a, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-5)
