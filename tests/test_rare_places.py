# SPDX-License-Identifier: Apache-2.0
"""Elements of several iterations in one place: rings, and layouts whose maps have no inverse."""

from __future__ import annotations

import numpy as np
import pytest
from test_rare_steps import outcome

import loopsmith as ls
from loopsmith import tir


def test_a_ring_is_judged_by_what_its_own_step_does():
    body = """
B = T.alloc_buffer((18, 18), "int32")
for i, j in T.grid(18, 18):
    with T.block("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + 1
for i, j in T.grid(16, 16):
    with T.block("c"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi + 2, vj + 2]
"""

    def steps(sch: tir.Schedule) -> None:
        outer, inner = sch.split(sch.get_loops("c")[0], [None, 4])
        sch.compute_at("b", inner)
        sch.cache_read("b", 0, "global")
        sch.store_at("b", outer)

    parameters = 'A: T.Buffer((18, 18), "int32"), C: T.Buffer((16, 16), "int32")'
    assert outcome(parameters, body, steps) == "same"


@pytest.mark.parametrize("step", [1, 2])
def test_elements_may_share_a_place_that_only_one_of_them_needs(step: int):
    body = f"""
B = T.alloc_buffer((16,), "int32")
for i in range({16 // step}):
    with T.block("b"):
        vi = T.axis.spatial({16 // step}, i)
        B[vi * {step}] = A[vi]
for i in range({16 // step}):
    with T.block("c"):
        vi = T.axis.spatial({16 // step}, i)
        C[vi] = B[vi * {step}] + 1
"""
    parameters = 'A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")'
    expected = "same" if step == 2 else "index_map_is_injective"
    taken = outcome(
        parameters, body, lambda sch: sch.transform_layout("b", ("write", 0), lambda i: [i // 2])
    )
    assert taken == expected


def test_iterations_under_a_condition_on_memory_add_up_apart():
    """By default a loop like this runs in threads, behind a test of where arrays lie."""
    func = ls.from_source(
        """
@T.prim_func
def main(A: T.Buffer((400,), "int64"), B: T.Buffer((400,), "int64"), R: T.Buffer((1,), "int64")):
    w = T.int64(3)
    c = T.int32(1)
    for i in range(257):
        w = A[i + 2]
        for j in range(100):
            if A[j + 1] > B[i]:
                c += j
        B[i] = w
    R[0] = T.cast(c, "int64")
"""
    )
    a, b = np.random.default_rng(3).integers(-9, 10, (2, 400))
    expected = 1 + sum(j for i in range(257) for j in range(100) if a[j + 1] > b[i])
    kernel = ls.build(func)
    for _ in range(50):
        found = np.zeros(1, np.int64)
        kernel(a, b.copy(), found)
        assert found[0] == expected


def test_a_consumer_does_not_wait_for_elements_that_a_guard_leaves_out():
    body = """
B = T.alloc_buffer((2, 6), "int32")
for i, j in T.grid(2, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, 0] - A[vi, vj]
for k, m in T.grid(2, 6):
    with T.block("C"):
        vk, vm = T.axis.remap("RS", [k, m])
        with T.init():
            C[vm] = 0
        C[vm] = T.min(C[vm], B[vk, vm] * 2)
"""

    def steps(sch: tir.Schedule) -> None:
        sch.split("j", [5, None])
        sch.reindex_cache_write("B", 0, "local", lambda x, y: [x * 6 + y])
        sch.reverse_compute_at("B_local", "i")

    parameters = 'A: T.Buffer((2, 6), "int32"), C: T.Buffer((6,), "int32")'
    assert outcome(parameters, body, steps) == "step_keeps_results"


def test_a_return_inside_of_a_block_ends_the_loop_around():
    body = """
for i in range(1):
    with T.block("outer"):
        for j in range(2):
            return
    with T.block("D"):
        vi = T.axis.spatial(2, i)
        D[vi] = T.if_then_else(vi < 2, 1, 0)
"""
    parameters = 'D: T.Buffer((1,), "int32")'
    assert outcome(parameters, body, lambda sch: sch.decompose_padding("D", "i")) == (
        "step_keeps_results"
    )


def test_padded_axes_are_no_part_of_other_indices():
    body = """
D = T.alloc_buffer((1,), "int64")
for i in range(1):
    with T.block("D"):
        vi = T.axis.spatial(1, i)
        D[vi] = T.int64(0)
        D[0 - vi] = T.int64(0)
"""
    assert outcome("", body, lambda sch: sch.pad_axes("D", [2])) == "axes_can_be_padded"


def test_a_layout_reaches_what_says_the_domains_of_a_block():
    body = """
P = T.alloc_buffer((4,), "int32")
for i in range(4):
    with T.block("P"):
        v = T.axis.spatial(4, i)
        P[v] = 2 + v % 2
for i in range(4):
    for j in range(P[i]):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(P[i], j)
            C[vi, vj] = A[vi, vj] * 2
"""
    parameters = 'A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")'

    def steps(sch: tir.Schedule) -> None:
        sch.set_layout("P", lambda i: (i // 2, i % 2))
        ls.build(sch.func)

    assert outcome(parameters, body, steps) == "same"


def test_a_record_of_parts_does_not_depend_on_what_was_asked():
    body = """
for i in T.parallel(8):
    for j in range(i + 1):
        C[i] = C[i] + A[j]
"""
    parameters = 'A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")'
    found = []

    def steps(sch: tir.Schedule) -> None:
        asked = bool(found)
        if asked:  # Is tried on a copy, and looks at the parallel loop again.
            sch.can_apply("set_layout", "A", lambda i: (i // 2, i % 2))
        sch.inspect_split("i", 3)
        found.append(sch.func)

    for _ in range(2):
        assert outcome(parameters, body, steps) == "same"
    assert "own_elements" in found[0].script()
    ls.assert_structural_equal(*found)
