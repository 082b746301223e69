# SPDX-License-Identifier: Apache-2.0
"""Steps on reductions over nothing, whose inits are given all the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_rare_steps import outcome

import loopsmith as ls
from loopsmith import tir


def test_loop_partition_keeps_the_init_of_a_guarded_reduction_over_nothing():
    body = """
for i in range(2):
    if i != 0:
        for j in range(n):
            with T.block("b"):
                vi, vj = T.axis.remap("RR", [i, j])
                with T.init():
                    B[0] = 1
                B[0] = B[0] + 1
"""

    def cut(sch: tir.Schedule) -> None:
        sch.loop_partition(sch.get_loop("i"), [1, None])

    parameters = "B: T.Buffer((1,), 'int32'), n: T.int32"
    assert outcome(parameters, body, cut) == "step_keeps_results"
    assert outcome(parameters, body.replace("if i != 0", "if n < 9"), cut) == "same"


def test_merge_does_not_move_the_init_of_a_reduction_over_nothing():
    body = """
for i in range(n):
    C[0] = i
for k in range(n):
    with T.block("b"):
        vk = T.axis.reduce(n, k)
        with T.init():
            D[0] = C[0]
        D[0] = D[0] + 1
"""

    def join(sch: tir.Schedule) -> None:
        sch.merge(sch.get_loop("i"), sch.get_loop("k"))

    parameters = "C: T.Buffer((1,), 'int32'), D: T.Buffer((1,), 'int32'), n: T.int32"
    assert outcome(parameters, body, join) == "step_keeps_results"
    assert outcome(parameters, body.replace("D[0] = C[0]", "D[0] = 0"), join) == "same"


ROWS_OF_NOTHING = """
for i in range(0):
    with T.block("b"):
        vi = T.axis.reduce(0, i)
        with T.init():
            C[0] = 0
        C[0] = C[0] + 1
"""


@pytest.mark.parametrize("length", ["0", "n"])
@pytest.mark.parametrize(
    ("steps", "code"),
    [
        (lambda sch, k: sch.split(k, [None, 4]), "same"),
        (lambda sch, k: sch.split(k, [None, 1, 1], preserve_unit_iters=False), "same"),
        (lambda sch, k: sch.shift(k, 3), "same"),
        (lambda sch, k: sch.normalize_nest(k), "same"),
        (lambda sch, k: sch.decompose_reduction("b", k), "same"),
        (lambda sch, k: sch.rfactor(k, 0), "same"),
    ],
)
def test_an_empty_reduction_gives_its_init_after_any_step(
    steps: Callable[[tir.Schedule, tir.LoopRV], object], code: str, length: str
):
    body = ROWS_OF_NOTHING.replace("range(0", f"range({length}")
    body = body.replace("reduce(0", f"reduce({length}")
    parameters = "C: T.Buffer((1,), 'int32'), n: T.int32"
    assert outcome(parameters, body, lambda sch: steps(sch, sch.get_loops("b")[0])) == code


def test_a_split_that_leaves_out_the_init_of_an_empty_reduction():
    def split(sch: tir.Schedule) -> None:
        sch.split(sch.get_loops("b")[0], [1, 1, 1], preserve_unit_iters=False)

    assert outcome("C: T.Buffer((1,), 'int32')", ROWS_OF_NOTHING, split) == "step_keeps_results"


def test_a_loop_that_begins_to_bind_an_axis_takes_the_init_with_it():
    body = """
for i in range(2):
    for j in range(1 - i):
        with T.block("b"):
            vj = T.axis.reduce((i, 1), j)
            with T.init():
                A[1] = 0
            A[1] = 1
"""
    parameters = 'A: T.Buffer((2,), "int32")'
    assert outcome(parameters, body, lambda sch: sch.skew("i", "j")) == "step_keeps_results"


def test_parts_of_a_loop_would_each_give_the_init_of_an_empty_reduction():
    body = """
for i in range(2):
    A[i] = 1
    for j in range(0):
        with T.block("b"):
            vi = T.axis.reduce(2, i)
            vj = T.axis.reduce(0, j)
            with T.init():
                A[0] = A[2]
            A[0] = 1
"""
    parameters = 'A: T.Buffer((3,), "int32")'
    assert (
        outcome(parameters, body, lambda sch: sch.loop_partition("i", [1, None]))
        == "step_keeps_results"
    )


IN_COPIES = """
for k, i, j in T.grid(0, 4, 4):
    with T.block("b"):
        vk, vi, vj = T.axis.remap("RSS", [k, i, j])
        with T.init():
            A[vi + 1, vj] = A[vi, vj + SHIFT] + T.int32(1)
        A[vi + 1, vj] = A[vi + 1, vj] + T.int32(1)
"""


@pytest.mark.parametrize(
    ("shift", "steps", "expected"),
    [
        (1, lambda sch: sch.parallel("i"), "step_keeps_results"),
        (1, lambda sch: sch.parallel("j"), "same"),
        (1, lambda sch: sch.vectorize("i"), "step_keeps_results"),
        (1, lambda sch: sch.bind("i", "threadIdx.x"), "step_keeps_results"),
        (1, lambda sch: sch.reorder("j", "i"), "step_keeps_results"),
        (0, lambda sch: sch.reorder("j", "i"), "same"),
        (1, lambda sch: sch.reorder("i", "k"), "same"),
    ],
)
def test_the_init_of_nothing_reads_its_results_in_order(
    shift: int, steps: Callable[[tir.Schedule], object], expected: str
):
    body = IN_COPIES.replace("SHIFT", str(shift))
    assert outcome('A: T.Buffer((5, 5), "int32")', body, steps) == expected


def test_a_factored_reduction_over_nothing_keeps_its_init():
    body = """
for i in range(2, 1):
    with T.block("b"):
        vi = T.axis.reduce((2, 1), i)
        with T.init():
            A[0] = T.uint32(0)
        A[0] = A[0] + B[vi]
"""

    def steps(sch: tir.Schedule) -> None:
        _, inner = sch.split(sch.get_loops("b")[0], [None, 64])
        sch.rfactor(inner, 0)

    parameters = 'A: T.Buffer((4,), "uint32"), B: T.Buffer((4,), "uint32")'
    assert outcome(parameters, body, steps) == "same"


PARTS = """
for i in range(6):
    for k in range(EXTENT):
        for j in range(LENGTH):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.reduce(EXTENT, k)
                vj = T.axis.reduce(LENGTH, j)
                T.where(CONDITION)
                with T.init():
                    A[vi] = 0
                A[vi] = A[vi] + B[vk] * B[vj]
"""


@pytest.mark.parametrize(
    ("condition", "loop", "expected"),
    [
        # Elements that the condition leaves out are not started.
        ("i < 4", "k", "same"),
        # Of k, all starts, and what the condition leaves out is not read.
        ("k < 3", "k", "same"),
        ("i + k < 4", "k", "nest_is_plain"),
        ("i + j < 4", "k", "same"),
    ],
)
@pytest.mark.parametrize("length", ["0", "n"])
def test_partial_results_of_nothing_are_those_that_were_started(
    condition: str, loop: str, expected: str, length: str
):
    body = PARTS.replace("EXTENT", "5").replace("LENGTH", length).replace("CONDITION", condition)
    parameters = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32'
    assert outcome(parameters, body, lambda sch: sch.rfactor(loop, 0)) == expected


def test_a_part_with_nothing_to_reduce_starts_nothing():
    body = """
for i in range(2):
    for j in range(1 - i):
        with T.block("b"):
            vi = T.axis.reduce(2, i)
            vj = T.axis.reduce((i, 1), j)
            T.reads(A[vj, vi])
            T.writes(A[1, 1])
            with T.init():
                A[1, 1] = T.float32(1)
            A[1, 1] = A[vj, vi]
"""
    parameters = 'A: T.Buffer((2, 2), "float32")'
    assert outcome(parameters, body, lambda sch: sch.peel("i", 1)) == "step_keeps_results"


def test_an_outer_block_starts_nothing_where_its_inner_one_did_not():
    body = """
for i in range(0):
    for j in range(1 - i):
        with T.block("b"):
            vi = T.axis.reduce(0, i)
            vj = T.axis.spatial(1, j)
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = T.float32(1)
"""
    parameters = 'C: T.Buffer((1,), "float32")'
    assert outcome(parameters, body, lambda sch: sch.blockize("j")) == "step_keeps_results"


def test_no_loop_is_fused_of_results_and_of_nothing_to_reduce():
    body = """
for k in range(1):
    for j in range(2):
        for i in range(0):
            with T.block("b"):
                vi = T.axis.reduce(0, i)
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    V[vj] = 0
                V[vj] = 1
"""
    parameters = 'V: T.Buffer((2,), "int32")'
    assert outcome(parameters, body, lambda sch: sch.fuse("j", "i")) == "step_keeps_results"


def test_conditions_that_keep_a_reduction_from_its_start_are_no_masks():
    func = ls.from_source(
        """
@T.prim_func
def main(n: T.int32, A: T.Buffer((4, n), "float32"), V: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, n):
        with T.block("b"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.where(j < n - 1)
            with T.init():
                V[vi] = T.float32(1)
            V[vi] = V[vi] + A[vi, vj]
"""
    )
    sch = tir.Schedule(func)
    sch.rfactor("j", 1)
    for n, expected in ((0, 1), (1, 9), (2, 2), (5, 5)):
        results = np.full(4, 9, np.float32)
        ls.build(sch)(n, np.ones((4, n), np.float32), results)
        assert results.tolist() == [expected] * 4


def test_a_condition_goes_on_reading_the_loop_of_a_reduction_over_nothing():
    body = """
for i, j in T.grid(1, 2):
    if j <= i:
        for k in range(n):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("RSR", [i, j, k])
                with T.init():
                    B[vj] = 0
                B[vj] = 1
"""
    parameters = 'B: T.Buffer((2,), "int32"), n: T.int32'
    assert outcome(parameters, body, lambda sch: sch.fuse("j")) == "step_keeps_results"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [("n", "step_keeps_results"), ("m", "step_keeps_results"), ("4", "same")],
)
def test_fuse_does_not_give_the_init_of_rows_that_are_not_there(rows: str, expected: str):
    body = f"""
for i, j in T.grid({rows}, n):
    with T.block("b"):
        vj = T.axis.reduce(n, j)
        with T.init():
            C[0] = 0
        C[0] = C[0] + 1
"""

    def join(sch: tir.Schedule) -> None:
        sch.fuse(sch.get_loop("i"), sch.get_loop("j"))

    parameters = "C: T.Buffer((1,), 'int32'), n: T.int32, m: T.int32"
    assert outcome(parameters, body, join) == expected


def test_peeled_parts_give_the_init_of_nothing_once():
    body = """
for i in range(2):
    for j in range(n):
        with T.block("b"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                C[0] = 1
            C[0] = 1
    C[0] = C[0] + 1
"""
    parameters = "C: T.Buffer((1,), 'int32'), n: T.int32"
    assert outcome(parameters, body, lambda sch: sch.peel("i", 1)) == "same"
