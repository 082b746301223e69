# SPDX-License-Identifier: Apache-2.0
"""Splits by factors that are expressions of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te_outline import lowered, text

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T


@T.prim_func
def scaled(a: T.handle, c: T.handle, f: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        with T.block("C"):
            v = T.axis.spatial(n, i)
            C[v] = A[v] * T.float32(2)


@T.prim_func
def two_steps(a: T.handle, c: T.handle, f: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, 16), "float32")
    C = T.match_buffer(c, (n, 16), "float32")
    B = T.alloc_buffer((n, 16))
    for i, j in T.grid(n, 16):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] + T.float32(1)
    for i, j in T.grid(n, 16):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = B[v, w] * T.float32(2)


def variable(func: tir.PrimFunc, name: str) -> Any:
    """Return the size or parameter of that name."""
    shapes = [extent for buffer in func.buffer_map.values() for extent in buffer.shape]
    return next(each for each in [*func.params, *shapes] if getattr(each, "name", "") == name)


def runs_alike(before: tir.PrimFunc, after: tir.PrimFunc) -> None:
    """Run both, interpreted and compiled, where the factor is less than 1, divides, or does not."""
    built = [ls.build(before), ls.build(after)]
    width = () if before is scaled else (16,)
    for n in (0, 1, 5, 12):
        for f in (-3, 0, 1, 4, 5, 40):
            given = np.arange(n * 16, dtype=np.float32)[: n * 16 if width else n]
            given = given.reshape((n, *width))
            results = [np.zeros_like(given) for _ in range(3)]
            built[0](given, results[0], f)
            built[1](given, results[1], f)
            ls.interp.run(after, given, results[2], f)
            assert np.array_equal(results[0], results[1]), (n, f)
            assert np.array_equal(results[0], results[2]), (n, f)


def body(sch: tir.Schedule) -> str:
    """Return the loops of the program, as they are printed."""
    lines = sch.func.script().splitlines()
    first = next(i for i, line in enumerate(lines) if "for " in line)
    return "\n".join(line.strip() for line in lines[first:])


def test_a_factor_may_be_a_parameter() -> None:
    sch = tir.Schedule(scaled)
    outer, inner = sch.split("i", [None, variable(scaled, "f")], names=["io", "ii"])
    assert [sch.get(loop).loop_var.name for loop in (outer, inner)] == ["io", "ii"]
    assert "for io, ii in T.grid((n - 1) // T.max(f, 1) + 1, T.max(f, 1))" in body(sch)
    assert "T.where(io * T.max(f, 1) + ii < n)" in body(sch)
    runs_alike(scaled, sch.func)


def test_a_factor_that_is_positive_stays_as_it_is_written() -> None:
    n = variable(scaled, "n")
    sch = tir.Schedule(scaled)
    _, inner = sch.split("i", [None, n // 4 + 1])
    assert ls.structural_equal(sch.get(inner).extent, n // 4 + 1)
    runs_alike(scaled, sch.func)


def test_the_outer_loop_may_be_given() -> None:
    sch = tir.Schedule(scaled)
    sch.split("i", [variable(scaled, "f"), None])
    runs_alike(scaled, sch.func)


def test_all_factors_may_be_given_where_they_cover_the_loop() -> None:
    n = variable(scaled, "n")
    sch = tir.Schedule(scaled)
    sch.split("i", [tir.floordiv(n + 3, 4), 4])
    runs_alike(scaled, sch.func)
    with pytest.raises(
        ls.ScheduleError, match=r"the product of factors is .*, less than the extent"
    ):
        tir.Schedule(scaled).split("i", [variable(scaled, "f"), 4])


@T.prim_func
def rows(c: T.handle, f: T.int32):
    m = T.int32()
    C = T.match_buffer(c, (m, 8), "float32")
    for i in range(m * 8):
        with T.block("C"):
            v = T.axis.spatial(m * 8, i)
            C[v // 8, v % 8] = T.float32(2)


def test_no_guard_and_no_bound_where_the_factor_divides() -> None:
    sch = tir.Schedule(rows)
    sch.split("i", [None, variable(rows, "m")])
    assert "T.grid(8, m)" in body(sch)
    assert "T.where" not in body(sch)
    for m in (0, 1, 3):
        got = np.zeros((m, 8), np.float32)
        ls.build(sch.func)(got, 0)
        assert (got == 2).all()


def test_two_extents_that_may_be_negative_are_no_quotient() -> None:
    @T.prim_func
    def product(c: T.Buffer((8,), "float32"), f: T.int32, g: T.int32):
        for i in range(f * g):
            with T.block("C"):
                v = T.axis.spatial(f * g, i)
                c[v % 8] = T.float32(2)

    sch = tir.Schedule(product)
    sch.split("i", [None, product.params[1]])
    got = np.zeros(8, np.float32)
    ls.build(sch.func)(got, -2, -4)
    assert (got == 2).all()


def test_the_usual_steps_follow() -> None:
    f = variable(two_steps, "f")
    sch = tir.Schedule(two_steps)
    i, j = sch.get_loops("C")
    outer, inner = sch.split(i, [None, f])
    sch.reorder(outer, j, inner)
    sch.compute_at("B", outer)
    sch.parallel(outer)
    runs_alike(two_steps, sch.func)

    sch = tir.Schedule(two_steps)
    i, j = sch.get_loops("C")
    outer, inner = sch.split(i, [f, None])
    sch.parallel(outer)
    sch.vectorize(j)
    runs_alike(two_steps, sch.func)


def test_a_trace_prints_the_factor_and_replays() -> None:
    sch = tir.Schedule(scaled)
    sch.split("i", [None, variable(scaled, "f") * 2])
    assert 'factors=[None, tir.Var("f", "int32") * 2]' in str(sch.trace)
    other = tir.Schedule(ls.from_json(ls.to_json(scaled)))
    sch.trace.apply_to_schedule(other)
    ls.assert_same(other.func, sch.func)
    scope: dict[str, Any] = {}
    exec(str(sch.trace), scope)
    again = tir.Schedule(scaled)
    scope["apply_trace"](again)
    ls.assert_same(again.func, sch.func)


@pytest.mark.parametrize(
    ("factor", "problem", "advice"),
    [
        (
            lambda sch: sch.get(sch.get_loops("C")[1]).loop_var,
            "split: factor 1 of loop i is j, which reads j, no size of the function",
            "use numbers, parameters, and sizes of buffers that are parameters",
        ),
        (
            lambda sch: tir.BufferLoad(next(iter(sch.func.buffer_map.values())), [0, 0]).astype(
                "int32"
            ),
            "which reads A[0, 0], no size of the function",
            "use numbers",
        ),
        (
            lambda sch: variable(two_steps, "f").astype("float32"),
            "of type float32, but the loop counts in int32",
            "give an integer expression",
        ),
        (
            lambda sch: variable(two_steps, "f").astype("int64"),
            "of type int64, but the loop counts in int32",
            "cast it to the type of the loop",
        ),
        (
            lambda sch: tir.Var("g", "int32"),
            "a factor uses g, which the function does not have",
            "use variables of the function",
        ),
        (lambda sch: 0 * variable(two_steps, "f"), "is 0, not positive", "pass 1 or more"),
    ],
)
def test_other_factors_are_refused(factor: Any, problem: str, advice: str) -> None:
    sch = tir.Schedule(two_steps)
    with pytest.raises(ls.ScheduleError) as error:
        sch.split(sch.get_loops("C")[0], [None, factor(sch)])
    assert problem in str(error.value)
    assert advice in str(error.value)
    assert "split" not in str(sch.trace)


def test_lanes_of_a_symbolic_extent_are_cut_into_vectors() -> None:
    sch = tir.Schedule(scaled)
    outer, inner = sch.split("i", [None, variable(scaled, "f")])
    sch.parallel(outer)
    sch.vectorize(inner)
    runs_alike(scaled, sch.func)


def test_stages_are_split_by_sizes() -> None:
    n, f = te.var("n"), te.var("f")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    C = te.compute((n,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=f)
    s[B].compute_at(s[C], outer)
    s[C].parallel(outer)
    func = s.to_tir([A, C, f]).func
    built = ls.build(func)
    for size in (0, 1, 7, 12):
        for factor in (-1, 0, 1, 3, 4, 20):
            given = np.arange(size, dtype=np.float32)
            got, interpreted = np.zeros_like(given), np.zeros_like(given)
            built(given, got, factor)
            ls.interp.run(func, given, interpreted, factor)
            assert np.array_equal(got, (given + 1) * 2), (size, factor)
            assert np.array_equal(interpreted, (given + 1) * 2), (size, factor)


def test_stages_are_tiled_and_cut_into_parts_by_sizes() -> None:
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    C = te.compute((n, n), lambda i, j: A[j, i] + 1, name="C")
    s = te.create_schedule(C.op)
    s[C].tile(*C.op.axis, n // 2 + 1, te.max(n, 3))
    D = te.create_schedule(C.op)
    D[C].split(C.op.axis[0], nparts=n)
    for schedule in (s, D):
        built = ls.build(schedule, [A, C])
        for size in (0, 1, 6, 9):
            given = np.arange(size * size, dtype=np.float32).reshape(size, size)
            got = np.zeros_like(given)
            built(given, got)
            assert np.array_equal(got, given.T + 1), size


def test_partial_results_of_a_symbolic_split() -> None:
    n, f = te.var("n"), te.var("f")
    A = te.placeholder((n,), name="A", dtype="int32")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(k, factor=f)
    s.rfactor(C, outer)
    built = ls.build(s, [A, C, f])
    for size in (0, 1, 7, 12):
        for factor in (-1, 0, 1, 3, 4, 20):
            given = np.arange(size, dtype=np.int32)
            got = np.zeros(1, np.int32)
            built(given, got, factor)
            assert got[0] == given.sum(), (size, factor)


def test_factors_of_stages_that_read_loops_or_memory_are_refused() -> None:
    n = te.var("n")
    A = te.placeholder((n, n), name="A", dtype="int32")
    C = te.compute((n, n), lambda i, j: A[i, j], name="C")
    i, j = C.op.axis
    for factor, problem in [
        (j, "split: factor of axis i is j, which reads j, no size of the program"),
        (A[0, 0], "split: factor of axis i is A[0, 0], which reads A[0, 0]"),
        (n.astype("float32"), "of type float32, but the axis counts in int32"),
        (2.5, "of type float32, but the axis counts in int32"),
    ]:
        with pytest.raises(ls.UserError) as error:
            te.create_schedule(C.op)[C].split(i, factor=factor)
        assert problem in str(error.value)
    s = te.create_schedule(C.op)
    s[C].split(i, factor=te.var("g"))
    with pytest.raises(ls.ScheduleError, match="which reads g, no size of the function") as missing:
        ls.lower(s, [A, C])
    assert "hint: add g to the arguments" in str(missing.value)
    assert [each.name for each in s.to_tir().func.params][2:] == ["g"]
    s = te.create_schedule(C.op)
    _, inner = s[C].split(j, factor=n)
    s[C].vectorize(inner)
    with pytest.raises(ls.ScheduleError, match="which is no constant"):
        ls.lower(s, [A, C])


def test_a_split_by_a_size_prints_what_it_did() -> None:
    n, f = te.size_var("n"), te.size_var("f")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] * 2, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=f)
    assert lowered(s, [A, C, f]) == text("""
        for i.outer in (n - 1) // T.max(f, 1) + 1
          for i.inner in T.max(f, 1)
            if i_inner + T.max(f, 1) * i_outer < n
              C =
    """)
    assert te.Schedule.from_json(s.as_json()).as_json() == s.as_json()
