# SPDX-License-Identifier: Apache-2.0
"""rfactor of blocks that do not start what they accumulate in, and of blocks under conditions."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def product(
    A: T.Buffer((12, 16), "float32"),
    B: T.Buffer((16, 8), "float32"),
    C: T.Buffer((12, 8), "float32"),
):
    for i, j, k in T.grid(12, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@pytest.mark.parametrize("part", [0, 1])
def test_an_update_whose_init_stands_apart_has_partial_results(part: int):
    sch = tir.Schedule(product)
    outer, _ = sch.split(sch.get_loops("C")[2], [None, 5])
    sch.decompose_reduction("C", outer)
    partial = sch.rfactor(sch.get_loops("C_update")[2 + part], 0)
    assert "T.init" not in sch.func.script().split('T.block("C_update")')[1]
    assert sch.verify().answer == "same"
    sch.reorder(*reversed(sch.get_loops(partial)[2:]))
    sch.parallel(sch.get_loops(partial)[0])
    rng = np.random.default_rng(1)
    a, b = rng.random((12, 16), "float32"), rng.random((16, 8), "float32")
    c = np.zeros((12, 8), "float32")
    ls.build(sch)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@T.prim_func
def between_others(
    A: T.Buffer((9, 16), "int32"), C: T.Buffer((9,), "int32"), D: T.Buffer((9,), "int32")
):
    for i in range(9):
        with T.block("start"):
            vi = T.axis.spatial(9, i)
            C[vi] = A[vi, 3]
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.where(i + j < 20)
                C[vi] = T.max(C[vi], A[vi, vj])
        with T.block("end"):
            vi = T.axis.spatial(9, i)
            D[vi] = C[vi]
            C[vi] = 7


def test_others_may_write_the_results_before_and_after():
    for factors in ([4, None], [None, 5]):
        for part in (0, 1):
            sch = tir.Schedule(between_others)
            loops = sch.split(sch.get_loops("C")[1], factors)
            sch.rfactor(loops[part], -1)
            assert sch.verify().answer == "same"


@T.prim_func
def prefix(C: T.Buffer((2, 9), "int32")):
    for i, j in T.grid(9, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            C[0, vi] = C[0, vi] + C[0, vj]


@T.prim_func
def first_column(C: T.Buffer((9, 16), "int32")):
    for i in range(9):
        for j in range(1, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                C[vi, 0] = C[vi, 0] + C[vi, vj]


def test_an_update_may_read_other_elements_that_stay():
    sch = tir.Schedule(first_column)
    sch.rfactor(sch.get_loops("C")[1], 0)
    assert sch.verify().answer == "same"
    sch = tir.Schedule(prefix)
    with pytest.raises(ls.ScheduleError, match=r"C \(i=0, j=8\) writes C before C") as caught:
        sch.rfactor(sch.get_loops("C")[1], 0)
    assert caught.value.code == "step_keeps_results"


@T.prim_func
def seen_between(
    A: T.Buffer((16, 9), "int32"), C: T.Buffer((9,), "int32"), D: T.Buffer((16, 9), "int32")
):
    for k in range(16):
        for i in range(9):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + A[vk, vi]
        for i in range(9):
            with T.block("D"):
                vi, vk = T.axis.remap("SS", [i, k])
                D[vk, vi] = C[vi]


@T.prim_func
def histogram(A: T.Buffer((8, 64), "int32"), C: T.Buffer((16,), "int32")):
    for i, k in T.grid(8, 64):
        with T.block("C"):
            vi, vk = T.axis.remap("RR", [i, k])
            C[vk % 16] = C[vk % 16] + A[vi, vk]


def test_sums_that_are_seen_in_between_keep_their_order():
    sch = tir.Schedule(seen_between)
    with pytest.raises(ls.ScheduleError):
        sch.rfactor(sch.get_loops("C")[0], 0)
    # Partial results of one element start once.
    sch = tir.Schedule(histogram)
    with pytest.raises(ls.ScheduleError, match="is not a reduction block"):
        sch.rfactor(sch.get_loops("C")[0], 0)


@T.prim_func
def under_a_condition(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        if i < 4:
            for j in range(16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vj]


def test_both_blocks_stand_under_the_condition_of_the_one():
    sch = tir.Schedule(under_a_condition)
    sch.rfactor(sch.get_loops("C")[1], 0)
    assert sch.func.script().count("if i < 4") == 1
    assert sch.verify().answer == "same"


def test_sums_in_parts_round_otherwise():
    sch = tir.Schedule(product, allow_reassociation=False)
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    with pytest.raises(ls.ScheduleError) as caught:
        sch.rfactor(sch.get_loops("C_update")[2], 0)
    assert caught.value.code == "reductions_keep_their_order"
