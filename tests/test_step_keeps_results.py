# SPDX-License-Identifier: Apache-2.0
"""Steps that would change results, in programs whose nests share loops, and the words for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812

Call = Callable[[tir.Schedule], object]


@T.prim_func
def prefix_sums(A: T.Buffer((6, 6), "uint32"), B: T.Buffer((6, 6), "uint32")) -> None:
    S = T.alloc_buffer((6,), "uint32")
    P = T.alloc_buffer((6, 6), "uint32")
    for i in range(6):
        for j in range(6):
            with T.block("sum"):
                vi, vj = T.axis.remap("RS", [i, j])
                with T.init():
                    S[vj] = T.uint32(0)
                S[vj] = S[vj] + A[vi, vj]
        for j in range(6):
            with T.block("prefix"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = S[vj]
    for i, j in T.grid(6, 6):
        with T.block("out"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = P[vi, vj]


@T.prim_func
def diagonal(A: T.Buffer((6,), "float32"), B: T.Buffer((6, 6), "float32")) -> None:
    for i in range(6):
        with T.block("square"):
            vi = T.axis.spatial(6, i)
            B[vi, vi] = A[vi] * A[vi]


@T.prim_func
def two_writers(A: T.Buffer((6, 6), "uint32"), V: T.Buffer((6,), "uint32")) -> None:
    for k, i in T.grid(6, 6):
        with T.block("copy"):
            vk, vi = T.axis.remap("SS", [k, i])
            V[vk] = A[vk, vi]
        for j in range(6):
            with T.block("sum"):
                vk = T.axis.reduce(6, k)
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    V[vi] = T.uint32(0)
                V[vi] = V[vi] + A[vj, vk]


@T.prim_func
def scan(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")) -> None:
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = C[vi] + C[7 - vi]
    for i in range(7):
        with T.block("back"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi] * T.float32(2)


@T.prim_func
def late_start(A: T.Buffer((6, 6), "int32"), S: T.Buffer((6,), "int32")) -> None:
    for j, i in T.grid(6, 6):
        with T.block("SR"):
            vj, vi = T.axis.remap("RS", [j, i])
            T.where(j >= 2)
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vj, vi]


REFUSED: list[tuple[str, tir.PrimFunc, Call, str]] = [
    (
        "a partial sum is read before the next value is added",
        prefix_sums,
        lambda sch: sch.compute_inline("prefix"),
        "compute_inline: results would change: prefix (vi=",
    ),
    (
        "it is so wherever the reader goes",
        prefix_sums,
        lambda sch: sch.compute_at("prefix", sch.get_loops("out")[0]),
        "compute_at: results would change: prefix (vi=",
    ),
    (
        "a reader of neighbours does not write over what others still read",
        scan,
        lambda sch: sch.compute_at("B", sch.get_loops("back")[0]),
        "compute_at: results would change: B (vi=",
    ),
    (
        "elements that the block does not write are not copied back",
        diagonal,
        lambda sch: sch.pad_einsum("square", [4]),
        "pad_einsum: block square is no Einsum pattern",
    ),
]


@pytest.mark.parametrize(
    ("func", "call", "text"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_step_that_would_change_results_is_refused(func: tir.PrimFunc, call: Call, text: str):
    sch = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError) as caught:
        call(sch)
    assert caught.value.problem.startswith(text)
    assert ls.structural_equal(sch.func, tir.Schedule(func).func)


@pytest.mark.parametrize(
    "call",
    [
        lambda sch: sch.fuse(*sch.get_loops("SR")),
        lambda sch: sch.loop_partition(sch.get_loops("SR")[1], [2, None]),
        lambda sch: sch.reorder(*reversed(sch.get_loops("SR"))),
        lambda sch: sch.decompose_reduction("SR", sch.get_loops("SR")[0]),
        lambda sch: sch.blockize(sch.get_loops("SR")[1]),
    ],
)
def test_a_condition_that_leaves_out_the_start_leaves_out_the_init(call: Call):
    """The instance at the start of the axes does not run, before a step and after it."""
    sch = tir.Schedule(late_start)
    call(sch)
    assert sch.verify()
    a, s = np.arange(36, dtype="int32").reshape(6, 6), np.full(6, 100, "int32")
    ls.build(sch)(a, s)
    np.testing.assert_array_equal(s, 100 + a[2:].sum(axis=0))


def test_a_cache_of_what_two_write_is_refused_or_right():
    sch = tir.Schedule(two_writers)
    for loop in sch.get_loops("sum"):
        try:
            sch.write_at(loop, "sum", 0, "local")
        except ls.ScheduleError:
            continue
        assert sch.verify()


def test_a_block_that_is_neither_complete_nor_a_reduction_moves():
    @T.prim_func
    def updates(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")) -> None:
        B = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("start"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("update"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B[vi, vj] * T.float32(2)
        for i, j in T.grid(8, 8):
            with T.block("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, 7 - vj]

    sch = tir.Schedule(updates)
    row = sch.get_loops("out")[0]
    sch.compute_at("update", row)
    assert sch.verify()
    sch.compute_at("start", row, index=0)
    assert sch.verify()


def test_sums_that_say_nothing_of_it_are_not_added_up_in_another_order_unseen():
    @T.prim_func
    def total(A: T.Buffer((8, 8), "float32"), C: T.Buffer((1,), "float32")) -> None:
        B = T.alloc_buffer((1,))
        with T.block("start"):
            B[0] = T.float32(0)
        for j, i in T.grid(8, 8):
            with T.block("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[0] = B[0] + A[vi, vj]
        for i in range(1):
            with T.block("out"):
                vi = T.axis.spatial(1, i)
                C[vi] = B[0]

    sch = tir.Schedule(total)
    sch.compute_at("add", sch.get_loops("out")[0])
    assert "reorders a reduction" in str(sch.trace)
    assert sch.verify()
    strict = tir.Schedule(total, allow_reassociation=False)
    with pytest.raises(ls.ScheduleError) as caught:
        strict.compute_at("add", strict.get_loops("out")[0])
    assert caught.value.code == "reductions_keep_their_order"


def test_an_init_goes_before_reads_of_results_that_are_whole_by_then():
    @T.prim_func
    def prefix_products(A: T.Buffer((8, 8), "float32")) -> None:
        for i, j, k in T.grid(8, 8, 8):
            with T.block("A"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.where(k < j)
                with T.init():
                    A[vi, vj] = T.float32(1)
                A[vi, vj] = A[vi, vj] * A[vi, vk]

    sch = tir.Schedule(prefix_products)
    sch.decompose_reduction("A", sch.get_loops("A")[0])
    assert sch.verify()


def test_nothing_moves_before_a_return():
    @T.prim_func
    def searched(F: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32")) -> None:
        B = T.alloc_buffer((5,), "int32")
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                B[vi] = F[vi] * 2
        for i in range(5):
            if F[i] == 1:
                return
        for i in range(5):
            with T.block("C"):
                vi = T.axis.spatial(5, i)
                C[vi] = B[vi] + 1

    sch = tir.Schedule(searched)
    for call in (
        lambda: sch.reverse_compute_at("C", sch.get_loops("B")[0]),
        lambda: sch.reverse_compute_inline("C"),
    ):
        with pytest.raises(
            ls.ScheduleError, match=r"which instances of .* run is not known"
        ) as caught:
            call()
        assert caught.value.code == "step_keeps_results"


def test_a_part_of_a_reduction_that_runs_twice_does_not_run_once():
    @T.prim_func
    def counted(E: T.Buffer((1,), "int32")) -> None:
        C = T.alloc_buffer((2, 2), "int32")
        D = T.alloc_buffer((1,), "int32")
        for i, j in T.grid(2, 2):
            C[i, j] = 1
            with T.block("sum"):
                T.axis.reduce(2, i)
                with T.init():
                    D[0] = 0
                D[0] = D[0] + 1
        for k in range(1):
            E[k] = D[k]

    sch = tir.Schedule(counted)
    with pytest.raises(ls.ScheduleError) as caught:
        sch.compute_at("sum", sch.get_loop("k"))
    assert caught.value.code == "step_keeps_results"
