# SPDX-License-Identifier: Apache-2.0
"""Answers of the law for programs whose loops are shared, started anew, written by several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir

Step = Callable[[tir.Schedule], object]


def parsed(text: str) -> tir.PrimFunc:
    return ls.from_source("@T.prim_func\n" + text.strip("\n") + "\n")


def expect_same(sch: tir.Schedule) -> None:
    """Verify a schedule, and run what is built of it beside the interpreter."""
    assert sch.verify().answer == "same"
    before = sch.original["main"]
    shapes = [before.buffer_map[each].shape for each in before.params]
    random = np.random.default_rng(1)
    given = [
        random.integers(0, 9, [int(size) for size in shape]).astype("int32") for shape in shapes
    ]
    expected = [each.copy() for each in given]
    ls.interp.run(before, *expected)
    ls.build(sch)(*given)
    for one, other in zip(given, expected):
        np.testing.assert_array_equal(one, other)


RUNNING_SUMS = """
def main(A: T.Buffer((6, 6), "int32"), B: T.Buffer((6, 6), "int32")):
    S = T.alloc_buffer((6,), "int32")
    P = T.alloc_buffer((6, 6), "int32")
    for i in range(6):
        for j in range(6):
            with T.block("sum"):
                vi, vj = T.axis.remap("RS", [i, j])
                with T.init():
                    S[vj] = 0
                S[vj] = S[vj] + A[vi, vj]
        for j in range(6):
            with T.block("running"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = S[vj]
    for i, j in T.grid(6, 6):
        with T.block("out"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = P[vi, vj]
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.compute_inline("running"),
        lambda sch: sch.compute_at("running", sch.get_loops("out")[0]),
        lambda sch: sch.compute_at("running", sch.get_loops("out")[1]),
    ],
)
def test_sums_that_go_on_are_read_in_time(step: Step) -> None:
    with pytest.raises(ls.ScheduleError) as caught:
        step(tir.Schedule(parsed(RUNNING_SUMS)))
    assert caught.value.code == "step_keeps_results"


SUMS = """
def main(A: T.Buffer((64, 64), "int32"), C: T.Buffer((64,), "int32")):
    B = T.alloc_buffer((64,), "int32")
    for i, k in T.grid(64, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = B[vi] + 1
"""


@pytest.mark.parametrize("factor", [8, 80])
def test_a_sum_in_threads_inside_of_threads_is_built(factor: int) -> None:
    sch = tir.Schedule(parsed(SUMS))
    outer, _ = sch.split(sch.get_loops("C")[0], [None, factor])
    sch.compute_at("B", outer)
    sch.parallel(outer)
    sch.parallel(sch.get_loops("B")[-1])
    expect_same(sch)


def test_a_consumer_moves_to_a_factored_sum_without_its_init() -> None:
    sch = tir.Schedule(parsed(SUMS))
    _, inner = sch.split(sch.get_loops("B")[1], [None, 8])
    sch.rfactor(inner, 0)
    rows, parts = sch.get_loops("B")
    sch.decompose_reduction("B", parts)
    sch.reverse_compute_at("C", rows)
    expect_same(sch)


UPDATED = """
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("start"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("update"):
            vi = T.axis.spatial(16, i)
            B[vi] = B[vi] * 2
    for i in range(16):
        with T.block("end"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + 1
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.compute_at("update", sch.get_loops("end")[0]),
        lambda sch: sch.reverse_compute_at("update", sch.get_loops("start")[0]),
        lambda sch: sch.cache_write("update", 0, "local"),
        lambda sch: sch.cache_inplace("update", 0, "local"),
    ],
)
def test_updates_in_place_move_and_are_cached(step: Step) -> None:
    sch = tir.Schedule(parsed(UPDATED))
    step(sch)
    expect_same(sch)


LATE = """
def main(A: T.Buffer((6, 6), "int32"), B: T.Buffer((6,), "int32")):
    for j, i in T.grid(6, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.where(j >= 2)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj]
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.fuse(*sch.get_loops("B")),
        lambda sch: sch.loop_partition(sch.get_loops("B")[0], [3]),
        lambda sch: sch.loop_partition(sch.get_loops("B")[1], [3]),
    ],
)
def test_a_sum_that_starts_late_keeps_its_init(step: Step) -> None:
    sch = tir.Schedule(parsed(LATE))
    step(sch)
    expect_same(sch)


SEVERAL_LIVES = """
def main(A: T.Buffer((6, 6), "int32"), V: T.Buffer((6,), "int32")):
    for k, i in T.grid(6, 6):
        with T.block("write"):
            vk, vi = T.axis.remap("SS", [k, i])
            V[vk] = A[vk, vi]
        for j in range(6):
            with T.block("sum"):
                vk, vi, vj = T.axis.remap("SSR", [k, i, j])
                with T.init():
                    V[vi] = 0
                V[vi] = V[vi] + A[vj, vk]
"""


@pytest.mark.parametrize("depth", [0, 2])
def test_a_copy_has_each_of_the_lives_of_its_elements(depth: int) -> None:
    sch = tir.Schedule(parsed(SEVERAL_LIVES))
    sch.write_at(sch.get_loops("sum")[depth], "sum", 0, "local")
    expect_same(sch)


PADDED = """
def main(X: T.Buffer((8,), "int32"), Y: T.Buffer((10,), "int32"), Z: T.Buffer((10,), "int32")):
    for i in range(10):
        with T.block("Y"):
            vi = T.axis.spatial(10, i)
            Y[vi] = T.if_then_else(1 <= vi and vi < 9, X[vi - 1], 0)
        with T.block("Z"):
            vi = T.axis.spatial(10, i)
            Z[vi] = Y[READ]
"""


@pytest.mark.parametrize(("read", "question"), [("vi", ""), ("9 - vi", "order")])
def test_a_padding_is_filled_before_a_loop_where_it_is_not_read_too_late(
    read: str, question: str
) -> None:
    sch = tir.Schedule(parsed(PADDED.replace("READ", read)))
    try:
        sch.decompose_padding("Y", "i")
    except ls.ScheduleError as error:
        assert error.question == question
    else:
        assert question == ""
        expect_same(sch)
