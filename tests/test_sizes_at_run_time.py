# SPDX-License-Identifier: Apache-2.0
"""Steps on loops whose lengths are known at run time alone."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def row_reduction(combine, dtype: str) -> tir.PrimFunc:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    return te.create_prim_func([A, te.compute((n,), lambda i: combine(A[i, k], axis=k), name="S")])


def in_lanes(func: tir.PrimFunc, lanes: int) -> tir.Schedule:
    """Give each lane a partial result, in registers."""
    sch = tir.Schedule(func)
    total = sch.get_block("S")
    i, k = sch.get_loops(total)
    _, lane = sch.split(k, [None, lanes])
    partial = sch.rfactor(lane, 0)
    sch.set_scope(partial, 0, "local")
    start = sch.decompose_reduction(partial, sch.get_loops(partial)[1])
    sch.merge(sch.get_loops(partial)[0], i)
    for block in (start, partial):
        sch.vectorize(sch.get_loops(block)[-1])
    return sch


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 64, 101])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_lanes_beyond_the_length_stay_neutral(name: str, dtype: str, length: int):
    func = row_reduction(getattr(te, name), dtype)
    values = (np.random.default_rng(length).random((5, length)) * 100 - 50).astype(dtype)
    expected, result = np.zeros(5, dtype), np.zeros(5, dtype)
    ls.build(tir.Schedule(func))(values, expected)
    ls.build(in_lanes(func, 8))(values, result)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-4)


def test_partial_results_of_a_row_stay_in_registers():
    sch = in_lanes(row_reduction(te.sum, "float32"), 8)
    update = sch.func.script()
    assert "T.where" not in update and "T.if_then_else(" in update
    lowered = ls.lower(sch).script()
    assert 'decl_buffer((8,), scope="local")' in lowered and "vload" in lowered


def shifted() -> tir.PrimFunc:
    w = te.var("w")
    A = te.placeholder((w,), name="A")

    def around(x):
        return A[te.max(x - 1, 0)] + A[te.min(x + 2, w - 1)]

    return te.create_prim_func([A, te.compute((w,), around, name="B")])


@pytest.mark.parametrize("first, last", [(1, 2), (3, 0), (0, 2), (4, 5)])
def test_a_loop_is_peeled_of_borders_that_may_overlap(first: int, last: int):
    func = shifted()
    sch = tir.Schedule(func)
    assert len(sch.peel("x", first, last)) == 1 + (first > 0) + (last > 0)
    program, peeled = ls.build(tir.Schedule(func)), ls.build(sch)
    for width in range(1, 14):
        values = np.random.rand(width).astype("float32")
        expected, result = np.zeros_like(values), np.zeros_like(values)
        program(values, expected)
        peeled(values, result)
        np.testing.assert_array_equal(result, expected)


def test_no_index_is_clamped_between_the_borders():
    sch = tir.Schedule(shifted())
    _, middle, _ = sch.peel("x", 1, 2)
    lines = ls.lower(sch).script().splitlines()
    inside = next(
        i for i, line in enumerate(lines) if f"for {sch.get(middle).loop_var.name} " in line
    )
    assert "T.m" not in lines[inside + 1]
