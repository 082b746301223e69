# SPDX-License-Identifier: Apache-2.0
"""Reductions by reducers of a user's own: Welford's mean and variance, online softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def zero(dtype: str) -> tir.Expr:
    """Return the number of that type."""
    return tir.const(0, dtype)


def welford(dtype: str) -> Any:
    """Combine (mean, sum of squared distances, count)."""

    def combine(a: Any, b: Any) -> Any:
        count = a[2] + b[2]
        share = b[2] / tir.Select(count > zero(dtype), count, tir.const(1, dtype))
        delta = b[0] - a[0]
        return a[0] + delta * share, a[1] + b[1] + delta * delta * a[2] * share, count

    return te.comm_reducer(combine, lambda *types: tuple(map(zero, types)), name="welford")


def online_softmax() -> Any:
    """Combine (maximum, sum of exponentials of distances to it)."""

    def combine(a: Any, b: Any) -> Any:
        most = te.max(a[0], b[0])
        return most, a[1] * te.exp(a[0] - most) + b[1] * te.exp(b[0] - most)

    return te.comm_reducer(combine, lambda t0, t1: (te.min_value(t0), zero(t1)), name="softmax")


def statistics(rows: int, columns: int, dtype: str) -> tir.PrimFunc:
    """Return mean and variance of rows, in one pass."""
    A = te.placeholder((rows, columns), dtype, "A")
    k = te.reduce_axis((0, columns), "k")
    reducer = welford(dtype)
    results = te.compute(
        (rows,),
        lambda i: reducer((A[i, k], zero(dtype), tir.const(1, dtype)), axis=k),
        name="S",
    )
    return te.create_prim_func([A, *results])


def normalisers(rows: int, columns: int) -> tir.PrimFunc:
    """Return maximum and sum of exponentials of rows, in one pass."""
    A = te.placeholder((rows, columns), "float32", "A")
    k = te.reduce_axis((0, columns), "k")
    reducer = online_softmax()
    results = te.compute(
        (rows,), lambda i: reducer((A[i, k], tir.const(1, "float32")), axis=k), name="S"
    )
    return te.create_prim_func([A, *results])


def expect_statistics(sch: tir.Schedule, rows: int, columns: int, dtype: str) -> None:
    """Run a schedule of `statistics` and compare with NumPy."""
    given = np.random.default_rng(columns).standard_normal((rows, columns)).astype(dtype)
    mean, squares, count = (np.full(rows, 9, dtype) for _ in range(3))
    ls.build(sch)(given, mean, squares, count)
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(mean, given.mean(1), atol=tolerance)
    np.testing.assert_allclose(squares / count, given.var(1), rtol=tolerance)
    assert count.tolist() == [columns] * rows


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 7, 100, 1024])
def test_welford_statistics_have_partial_results(columns: int, dtype: str) -> None:
    sch = tir.Schedule(statistics(5, columns, dtype))
    _, k = sch.get_loops("S")
    _, inner = sch.split(k, [None, 8])
    sch.rfactor(inner, factor_axis=0)
    sch.parallel(sch.get_loops("S_rf")[0])
    expect_statistics(sch, 5, columns, dtype)


def test_welford_statistics_are_reduced_in_levels() -> None:
    func = statistics(3, 1000, "float64")
    sch = tir.Schedule(func)
    sch.tree_reduce("k", [None, 10, 4])
    expect_statistics(sch, 3, 1000, "float64")
    assert sch.verify()
    replayed = tir.Schedule(func)
    sch.trace.apply_to_schedule(replayed)
    assert ls.structural_equal(replayed.func, sch.func)


@pytest.mark.parametrize("columns", [1, 7, 100, 1024])
def test_online_softmax_has_partial_results(columns: int) -> None:
    sch = tir.Schedule(normalisers(4, columns))
    _, k = sch.get_loops("S")
    outer, _ = sch.split(k, [None, 16])
    sch.rfactor(outer, factor_axis=1)
    assert sch.verify()
    given = np.random.default_rng(1).standard_normal((4, columns)).astype("float32")
    most, total = np.zeros(4, "float32"), np.zeros(4, "float32")
    ls.build(sch)(given, most, total)
    np.testing.assert_array_equal(most, given.max(1))
    np.testing.assert_allclose(total, np.exp(given - most[:, None]).sum(1), rtol=1e-4)


@pytest.mark.parametrize("step", ["rfactor", "parallel"])
def test_a_scalar_reducer_whose_combination_is_a_sum_has_partial_results(step: str) -> None:
    def log_sum_exp(a: Any, b: Any) -> Any:
        most = te.max(a, b)
        return most + tir.log(te.exp(a - most) + te.exp(b - most))

    reducer = te.comm_reducer(log_sum_exp, te.min_value, name="log_sum_exp")
    A, k = te.placeholder((4, 64), "float32", "A"), te.reduce_axis((0, 64), "k")
    B = te.compute((4,), lambda i: reducer(A[i, k], axis=k), name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    outer, inner = sch.split(sch.get_loops("B")[1], [None, 8])
    sch.rfactor(inner, factor_axis=0) if step == "rfactor" else sch.parallel(outer)
    given = np.random.default_rng(1).standard_normal((4, 64)).astype("float32")
    results = np.zeros(4, "float32")
    ls.build(sch)(given, results)
    np.testing.assert_allclose(results, np.log(np.exp(given).sum(1)), rtol=1e-5)


def running_normalisers(length: str) -> tir.PrimFunc:
    """Return maxima and sums of exponentials of all beginnings of rows."""
    return ls.from_source(f"""
@T.prim_func
def running(A: T.Buffer((4, 300), "float32"), W: T.Buffer((4, 300), "float32"),
            L: T.Buffer((5,), "int32"),
            M: T.Buffer((4, 301), "float32"), S: T.Buffer((4, 301), "float32")):
    for r in range(4):
        for i in range({length}):
            M[r, i + 1] = T.max(M[r, i], A[r, i])
            S[r, i + 1] = S[r, i] * T.exp(M[r, i] - T.max(M[r, i], A[r, i])) + (
                W[r, i] * T.exp(A[r, i] - T.max(M[r, i], A[r, i])))
""")


@pytest.mark.parametrize("length", ["300", "L[r]", "L[r + 1] - L[r]"])
def test_a_given_reducer_scans_tuples_in_rows(length: str) -> None:
    func = running_normalisers(length)
    sch = tir.Schedule(func)
    assert not sch.can_apply("parallel_scan", "i", length=32)
    reducer = online_softmax().combiner("float32", "float32")
    sch.parallel_scan("i", length=32, reducer=reducer)
    replayed = tir.Schedule(func)
    sch.trace.apply_to_schedule(replayed)
    assert ls.structural_equal(replayed.func, sch.func)
    random = np.random.default_rng(3)
    given = [random.random((4, 300), "float32") for _ in range(2)]
    lengths = np.array([3, 90, 180, 300, 299], "int32")
    results = []
    for each in (func, sch):
        most, total = np.full((4, 301), -9, "float32"), np.ones((4, 301), "float32")
        ls.build(each, default_schedule=False)(*given, lengths, most, total)
        results.append((most, total))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-4)


def test_a_given_reducer_that_is_not_associative_is_refused_with_a_counterexample() -> None:
    wrong = te.comm_reducer(lambda x, y: x - y, zero, name="minus")
    with pytest.raises(ls.UserError, match="minus"):
        wrong.combiner("int32")


def test_a_declared_reducer_prints_and_parses() -> None:
    func = statistics(2, 8, "float32")
    again = ls.from_source(func.script())
    assert ls.structural_equal(again, func)
    assert '"reducer": T.comm_reducer(lambda' in func.script()
    assert "reducer" not in te_sum().script()


def te_sum() -> tir.PrimFunc:
    """Return a reduction whose reducer its statement tells."""
    A = te.placeholder((8,), "float32", "A")
    k = te.reduce_axis((0, 8), "k")
    return te.create_prim_func([A, te.compute((), lambda: te.sum(A[k], axis=k), name="B")])


def test_a_reducer_that_is_not_what_the_block_does_is_refused() -> None:
    text = normalisers(2, 8).script()
    wrong = text.replace("T.exp(S_v0[v_i]", "T.exp(T.float32(2) * S_v0[v_i]", 1)
    assert wrong != text
    for func in (ls.from_source(wrong), ls.from_source(without_annotation(text))):
        sch = tir.Schedule(func)
        with pytest.raises(ls.ScheduleError, match="is no known reducer") as caught:
            sch.rfactor(sch.get_loops("S")[1], 0)
        assert caught.value.code == "reducer_is_known"
        assert "te.comm_reducer" in caught.value.hint


def without_annotation(text: str) -> str:
    """Return a script without what its block declares."""
    return "\n".join(line for line in text.split("\n") if "T.block_attr" not in line)
