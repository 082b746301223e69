# SPDX-License-Identifier: Apache-2.0
"""Steps on programs whose inits are rare: of what is read elsewhere, or in another order."""

from __future__ import annotations

import pytest
from test_rare_steps import outcome

from loopsmith import tir

REVERSED = """
for i in range(2):
    for j in range(3, -1, -1):
        with T.block("b"):
            vi = T.axis.reduce(3, i)
            vj = T.axis.reduce(4, j)
            with T.init():
                A[0] = T.int64(0)
            A[0] = A[0] + T.int64(1)
"""


def test_an_init_that_comes_in_the_middle_keeps_its_place():
    assert (
        outcome('A: T.Buffer((3,), "int64")', REVERSED, lambda sch: sch.reorder("j", "i"))
        == "step_keeps_results"
    )


@pytest.mark.parametrize("step", ["vectorize", "parallel"])
def test_what_an_init_reads_of_its_results_is_read_in_order(step: str):
    body = """
for i in range(4):
    with T.block("b"):
        vi = T.axis.spatial(4, i)
        with T.init():
            A[0, vi] = A[0, 0] + T.uint32(1)
        A[0, vi] = A[0, vi] * T.uint32(3)
"""
    parameters = 'A: T.Buffer((2, 4), "uint32")'
    assert outcome(parameters, body, lambda sch: getattr(sch, step)("i")) == ("step_keeps_results")


def test_an_init_declares_what_it_reads_of_its_results():
    body = """
for i in range(2):
    with T.block("b"):
        vi = T.axis.reduce(2, i)
        with T.init():
            A[2, 2] = A[1, 1]
        A[2, 2] = A[2, 2]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.loop_partition("i", [1, 1])
        sch.cache_inplace("b_i_common", "A", "shared")

    assert outcome('A: T.Buffer((3, 3), "float32")', body, steps) == "same"


@pytest.mark.parametrize("inner", ["range(i, i + 1)", "range(1)"])
def test_a_reduction_along_a_diagonal_is_no_block(inner: str):
    value = "i" if inner == "range(1)" else "k"
    body = f"""
for i in range(2):
    for k in {inner}:
        with T.block("b"):
            vi = T.axis.spatial(2, i)
            vk = T.axis.reduce(2, {value})
            with T.init():
                A[vi] = T.float32(1)
            A[vi] = A[vi] + T.float32(1)
"""
    assert (
        outcome('A: T.Buffer((2,), "float32")', body, lambda sch: sch.blockize("i"))
        == "step_keeps_results"
    )


def test_read_at_does_not_move_what_an_init_before_the_loop_reads():
    body = """
D = T.alloc_buffer((1,), "int32")
for i in range(n):
    with T.block("b"):
        vi = T.axis.reduce(n, i)
        with T.init():
            C[0] = A[1]
        C[0] = C[0] + A[0]
"""
    parameters = "A: T.Buffer((3,), 'int32'), C: T.Buffer((1,), 'int32'), n: T.int32"

    def copy(sch: tir.Schedule) -> None:
        sch.read_at(sch.get_loops("b")[0], sch.get_block("b"), "A", "global")

    # Without iterations, the init reads A[1] all the same.
    assert outcome(parameters, body, copy) == "step_keeps_results"
    known = body.replace("range(n)", "range(4)").replace("reduce(n", "reduce(4")
    assert outcome(parameters, known, copy) == "same"


def test_compute_at_does_not_move_what_an_init_before_the_loop_reads():
    body = """
P = T.alloc_buffer((1,), "int32")
with T.block("p"):
    P[0] = A[0] * 2
for i in range(n):
    with T.block("b"):
        vi = T.axis.reduce(n, i)
        with T.init():
            C[0] = P[0]
        C[0] = C[0] + A[1]
"""
    parameters = "A: T.Buffer((3,), 'int32'), C: T.Buffer((1,), 'int32'), n: T.int32"

    def move(sch: tir.Schedule) -> None:
        sch.compute_at(sch.get_block("p"), sch.get_loops("b")[0])

    assert outcome(parameters, body, move) == "step_keeps_results"


def test_rfactor_of_a_reduction_that_starts_several_times():
    body = """
for i, j in T.grid(2, 1):
    with T.block("b"):
        vj = T.axis.reduce(2, j)
        with T.init():
            A[0] = 0
        A[0] = A[0] + 1
"""

    def factor(sch: tir.Schedule) -> None:
        i, j = sch.get_loops("b")
        sch.skew(i, j)
        sch.normalize_nest(sch.get_loops("b")[1])
        sch.rfactor(sch.get_loops("b")[1], 0)

    assert outcome("A: T.Buffer((1,), 'int32')", body, factor) == "nest_is_plain"


@pytest.mark.parametrize("length", [1, 2])
def test_rfactor_of_a_sum_that_reads_its_result_through_another_buffer(length: int):
    body = f"""
V = T.decl_buffer(({length},), "int32", data=A.data)
for i in range({length}):
    with T.block("b"):
        vi = T.axis.reduce({length}, i)
        with T.init():
            V[0] = 0
        V[0] = V[0] + A[vi]
"""

    def factor(sch: tir.Schedule) -> None:
        sch.rfactor(sch.get_loops("b")[0], 0)

    parameters = f"A: T.Buffer(({length},), 'int32')"
    assert outcome(parameters, body, factor) in ("block_is_reduction", "step_keeps_results")


def test_a_cache_is_not_started_by_an_init_that_reads_what_was_there_before():
    body = """
for i, q in T.grid(4, 3):
    for k in range(6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(B[vi])
            with T.init():
                B[vi] = B[vi] * 2
            B[vi] = B[vi] + A[vi, vk]
    with T.block("C"):
        vi, vq = T.axis.remap("SS", [i, q])
        C[vi, vq] = B[vi]
"""
    parameters = (
        'A: T.Buffer((4, 6), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4, 3), "int32")'
    )
    code = outcome(parameters, body, lambda sch: sch.cache_write("B", 0, "global"))
    assert code == "step_keeps_results"


@pytest.mark.parametrize("step", ["parallel", "vectorize"])
def test_memory_that_an_init_reads_is_not_each_iterations_own(step: str):
    body = """
S = T.alloc_buffer((1,), "int32")
S[0] = 1
for i in range(4):
    for k in range(6):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(S[0])
            with T.init():
                S[0] = S[0] * 2
            S[0] = S[0] + A[vi, vk]
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        C[vi] = S[0]
"""
    parameters = 'A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32")'
    code = outcome(parameters, body, lambda sch: getattr(sch, step)("i"))
    assert code == "step_keeps_results"


def test_padding_starts_where_an_axis_does():
    body = """
with T.block("b"):
    vi = T.axis.spatial(1, 0)
    vj = T.axis.reduce(1, 0)
    vk = T.axis.reduce((1, 2), 1)
    with T.init():
        C[vi] = 0
    C[vi] = B[vi, vk]
"""
    parameters = 'B: T.Buffer((2, 2), "int32"), C: T.Buffer((1,), "int32")'
    assert outcome(parameters, body, lambda sch: sch.pad_einsum("b", [2, 1, 1])) == (
        "block_is_einsum"
    )


def test_a_dimension_for_iterations_reaches_blocks_of_an_init():
    body = """
D = T.alloc_buffer((2,), "int32")
for i in range(2):
    for j, k in T.grid(1, 2):
        with T.block("D"):
            vk = T.axis.spatial(2, k)
            with T.init():
                D[vk] = 0
            D[vk] = B[vk]
    for k in range(2):
        with T.block("A"):
            vi, vk = T.axis.remap("SS", [i, k])
            A[vi, vk] = D[vk]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.blockize(sch.get_loops("D")[1], preserve_unit_iters=False)
        sch.expand_scalar("D", "i")

    parameters = 'A: T.Buffer((2, 2), "int32"), B: T.Buffer((2,), "int32")'
    assert outcome(parameters, body, steps) == "same"


def test_an_outer_block_starts_under_no_condition_of_its_reduction():
    body = """
for i in range(2):
    if i >= 2:
        for j in range(0):
            with T.block("b"):
                vi = T.axis.reduce(2, i)
                vj = T.axis.reduce(0, j)
                with T.init():
                    C[0] = T.float32(0)
                C[0] = T.float32(1)
"""
    parameters = 'C: T.Buffer((1,), "float32")'
    assert outcome(parameters, body, lambda sch: sch.blockize("j")) == "step_keeps_results"
