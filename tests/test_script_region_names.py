# SPDX-License-Identifier: Apache-2.0
"""Regions of a block may use names that its body defines before them."""

from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


def layout(i, j):
    thread = (i % 8) * 4 + (j % 8) // 2
    return thread, (j // 8) * 4 + (i // 8) * 2 + (j % 2)


@T.prim_func
def copy(A: T.Buffer((32, 8), "float32"), B: T.Buffer((32, 8), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            thread, local = layout(vi, vj)
            next_one = local + 1
            T.reads(A[thread, local])
            T.writes(B[thread, next_one - 1])
            B[thread, local] = A[thread, local] * T.float32(2)


def test_names_of_a_helper_s_results_are_written_out_in_regions():
    schedule = tir.Schedule(copy)
    block = schedule.get(schedule.get_block("copy"))
    text = "vi % 8 * 4 + vj % 8 // 2, vj // 8 * 4 + vi // 8 * 2 + vj % 2"
    assert [str(region).split("\n")[-1] for region in block.reads] == [f"A[{text}]"]
    assert [str(region).split("\n")[-1] for region in block.writes] == [f"B[{text} + 1 - 1]"]


def test_a_block_whose_regions_use_names_is_scheduled_and_run():
    schedule = tir.Schedule(copy)
    schedule.vectorize(schedule.split(schedule.get_loops("copy")[1], [None, 2])[1])
    assert schedule.verify()
    a = np.random.default_rng(0).random((32, 8), "float32")
    np.testing.assert_array_equal(ls.build(schedule)(a), a * 2)
