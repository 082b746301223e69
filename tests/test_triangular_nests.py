# SPDX-License-Identifier: Apache-2.0
"""Loops whose bounds read loops around them are fused, tiled and run concurrently."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def upper(a: T.handle, b: T.handle) -> None:
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n, n), "float32")
    for i in range(n):
        for j in range(i, n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] * T.float32(2)


@T.prim_func
def plain(a: T.handle, b: T.handle) -> None:
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n, n), "float32")
    for i in range(n):
        for j in range(i + 1):
            B[i, j] = A[j, i] + T.float32(1)


@T.prim_func
def row_sums(A: T.Buffer((9, 9), "int32"), B: T.Buffer((9,), "int32")) -> None:
    for i in range(9):
        for j in range(i + 1):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 7
                B[vi] = B[vi] + A[vi, vj]


@T.prim_func
def tail_sums(A: T.Buffer((9, 9), "int32"), B: T.Buffer((9,), "int32")) -> None:
    for i in range(9):
        for j in range(9 - i):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 7
                B[vi] = B[vi] + A[vi, vi + vj]


@T.prim_func
def sums_of_earlier(A: T.Buffer((9, 9), "int32"), B: T.Buffer((9,), "int32")) -> None:
    for i in range(9):
        for j in range(i):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 7
                B[vi] = B[vi] + A[vi, vj]


@T.prim_func
def pyramid(A: T.Buffer((6, 6, 6), "int32"), B: T.Buffer((6, 6, 6), "int32")) -> None:
    for i in range(6):
        for j in range(i, 6):
            for k in range(j - i, j + 1):
                B[i, j, k] = A[k, i, j] * 2


@T.prim_func
def down(A: T.Buffer((7, 7), "float32")) -> None:
    for k in range(7):
        for i in range(k + 1, 7):
            A[i, k] = A[i - 1, k] - A[k, k]


PROGRAMS = {"upper": upper, "plain": plain, "row_sums": row_sums, "tail_sums": tail_sums}


def _loops(sch: tir.Schedule) -> list[tir.LoopRV]:
    return [sch.get_loop("i"), sch.get_loop("j")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_fuse_goes_through_all_values_of_dependent_bounds(name: str) -> None:
    sch = tir.Schedule(PROGRAMS[name])
    fused = sch.fuse(*_loops(sch))
    ls.assert_same(PROGRAMS[name], sch.func)
    assert sch.verify().answer == "same"
    if name == "upper":
        sch.parallel(fused)
        assert sch.verify().answer == "same"


@pytest.mark.parametrize("name", ["upper", "plain", "row_sums"])
def test_triangles_are_tiled(name: str) -> None:
    sch = tir.Schedule(PROGRAMS[name])
    i, j = _loops(sch)
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i0, j0, i1, j1)
    sch.parallel(i0)
    assert sch.verify().answer == "same"


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_of_triangles_change_places(name: str) -> None:
    sch = tir.Schedule(PROGRAMS[name])
    i, j = _loops(sch)
    sch.reorder(j, i)
    assert sch.verify().answer == "same"


def test_a_fused_triangle_is_built() -> None:
    sch = tir.Schedule(upper)
    fused = sch.fuse(*_loops(sch))
    outer, inner = sch.split(fused, [None, 8])
    sch.parallel(outer)
    sch.vectorize(inner)
    run = ls.build(sch.func)
    for n in (0, 1, 5, 13):
        a = np.arange(n * n, dtype="float32").reshape(n, n)
        b = np.zeros((n, n), "float32")
        run(a, b)
        np.testing.assert_array_equal(b, np.triu(a.T * 2))


def test_bounds_may_read_two_loops() -> None:
    sch = tir.Schedule(pyramid)
    fused = sch.fuse(sch.get_loop("i"), sch.get_loop("j"), sch.get_loop("k"))
    sch.parallel(fused)
    assert sch.verify().answer == "same"


@pytest.mark.parametrize("step", ["fuse", "reorder"])
def test_reductions_over_nothing_keep_their_loops(step: str) -> None:
    sch = tir.Schedule(sums_of_earlier)
    i, j = _loops(sch)
    code = {"fuse": "bounds_are_independent", "reorder": "bounds_are_independent"}[step]
    with pytest.raises(ls.ScheduleError) as caught:
        sch.fuse(i, j) if step == "fuse" else sch.reorder(j, i)
    assert caught.value.code == code


def test_dependences_of_a_triangle_count() -> None:
    sch = tir.Schedule(down)
    k, i = sch.get_loop("k"), sch.get_loop("i")
    fused = sch.fuse(k, i)
    assert sch.verify().answer == "same"
    with pytest.raises(ls.ScheduleError, match="depend on each other"):
        sch.parallel(fused)
