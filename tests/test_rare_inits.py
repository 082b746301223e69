# SPDX-License-Identifier: Apache-2.0
"""Steps on reductions that start rarely: over nothing, in parts, under conditions."""

from __future__ import annotations

import numpy as np
from test_rare_steps import outcome

import loopsmith as ls
from loopsmith import tir


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
    assert outcome(parameters, body, steps) == "empty_reductions_start"


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
    assert outcome(parameters, body, lambda sch: sch.peel("i", 1)) == "empty_reductions_start"


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
    assert outcome(parameters, body, lambda sch: sch.blockize("j")) == "empty_reductions_start"


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
    assert outcome(parameters, body, lambda sch: sch.blockize("j")) == "empty_reductions_start"


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
    assert outcome(parameters, body, lambda sch: sch.fuse("j", "i")) == "empty_reductions_start"


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
