# SPDX-License-Identifier: Apache-2.0
"""Steps on rare programs: they are refused, or keep the result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir

Steps = Callable[[tir.Schedule], object]


def outcome(parameters: str, body: str, steps: Steps) -> str:
    """Return the code of the refusal, or `same`; a step that changes the result fails the test."""
    lines = body.strip("\n").split("\n")
    source = "\n".join([f"def main({parameters}):", *("    " + line for line in lines)])
    sch = tir.Schedule(ls.from_source("@T.prim_func\n" + source))
    try:
        steps(sch)
    except ls.ScheduleError as error:
        return error.code
    verified = sch.verify()
    assert verified, verified.reason
    ls.from_source(sch.mod["main"].script())
    return "same"


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


def test_padding_is_not_written_where_a_break_ends_the_loop():
    body = """
for i, j in T.grid(2, 2):
    with T.block("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = T.if_then_else(vj < 1, 1, 0)
    break
"""
    parameters = 'D: T.Buffer((2, 2), "int32")'
    assert outcome(parameters, body, lambda sch: sch.decompose_padding("b", "i")) == (
        "step_keeps_results"
    )


def test_an_inlined_value_is_read_before_loops_of_its_reader_change_it():
    body = """
C = T.alloc_buffer((4, 4), "int32")
for i, j in T.grid(4, 3):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[2, 0]
for m, n in T.grid(3, 2):
    with T.block("B"):
        vm, vn = T.axis.remap("SS", [m, n])
        B[vm, vn] = 1 - C[3, vm]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.blockize("n")
        sch.compute_inline("C")

    assert outcome('B: T.Buffer((3, 3), "int32")', body, steps) == "step_keeps_results"


def test_an_index_that_reads_what_is_inlined_is_inlined():
    body = """
for i in range(6):
    with T.block("b"):
        vi = T.axis.spatial(6, i)
        B[vi, A[vi]] = vi
"""

    def steps(sch: tir.Schedule) -> None:
        sch.cache_read("b", "A", "shared")
        sch.reverse_compute_inline("b")

    parameters = 'A: T.Buffer((6,), "int32"), B: T.Buffer((6, 200), "int32")'
    assert outcome(parameters, body, steps) == "same"


def test_a_copy_by_axes_starts_where_they_do():
    body = """
for i in range(4):
    with T.block("b"):
        vi = T.axis.spatial((-3, 1), i - 3)
        C[vi + 3] = A[vi + 3]
"""
    parameters = 'A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")'
    assert outcome(parameters, body, lambda sch: sch.reindex("b", "A")) == "same"


def test_a_rolled_buffer_is_not_prefetched():
    body = """
T_ = T.alloc_buffer((10, 4), "float32")
for i, j in T.grid(10, 4):
    with T.block("T"):
        vi, vj = T.axis.remap("SS", [i, j])
        T_[vi, vj] = A[vi, vj] * T.float32(2)
for i, j in T.grid(8, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = T_[vi, vj] + T_[vi + 2, vj]
"""

    def steps(sch: tir.Schedule) -> None:
        loop = sch.get_loops("B")[0]
        sch.compute_at("T", loop)
        sch.prefetch("B", 0, loop)
        sch.rolling_buffer("T", 0)
        assert "T.prefetch" not in sch.mod.script()

    parameters = 'A: T.Buffer((10, 4), "float32"), B: T.Buffer((8, 4), "float32")'
    assert outcome(parameters, body, steps) == "same"


def test_a_copy_of_what_changes_is_not_read_later():
    body = """
for i in range(2):
    with T.block("b0"):
        vi = T.axis.spatial(2, i)
        B[0] = A[vi]
    with T.block("b1"):
        vi = T.axis.spatial(2, i)
        C[vi] = B[0]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.write_at("i", "b0", 0, "shared")
        sch.cache_write("b0", 0, "shared")
        sch.reverse_compute_at("b1", sch.get_loops("B_shared_shared")[-1])

    arrays = ", ".join(
        f'{name}: T.Buffer(({size},), "float32")' for name, size in zip("ABC", (2, 1, 2))
    )
    assert outcome(arrays, body, steps) == "step_keeps_results"


def test_a_cache_of_what_conditions_never_let_be_stored_is_not_copied_back():
    code = outcome(
        'A: T.Buffer((3, 3), "int8"), F: T.Buffer((3, 3), "int8")',
        """
for i in range(2, 3):
    for j in range(3):
        with T.block("b"):
            vi = T.axis.spatial(3, i)
            vj = T.axis.spatial(3, j)
            T.where(i < 2)
            F[vi, vj] = A[vi, vj]
""",
        lambda sch: sch.cache_write("b", 0, "shared"),
    )
    assert code == "written_box_is_known"


def test_a_block_in_a_loop_without_iterations_runs_nowhere():
    code = outcome(
        'A: T.Buffer((7,), "uint32"), C: T.Buffer((3,), "uint32")',
        """
B = T.alloc_buffer((1,), "uint32")
for ax0 in range(1):
    with T.block("B"):
        v0 = T.axis.spatial(1, ax0)
        B[v0] = A[v0]
for i in range(0):
    with T.block("C"):
        vi = T.axis.spatial((2, 3), 2)
        C[vi] = B[vi - 2]
""",
        lambda sch: sch.reverse_compute_at("C", "ax0"),
    )
    assert code == "instances_are_known"


def test_a_block_around_what_never_runs_stays_in_its_domain():
    code = outcome(
        'C: T.Buffer((1,), "float32")',
        """
for i in range(0):
    with T.block("C"):
        vi = T.axis.reduce(1, -1)
        C[0] = T.float32(1)
""",
        lambda sch: sch.blockize("i"),
    )
    assert code == "space_is_divisible"


def test_expand_scalar_indexes_by_the_axis_of_the_reduction():
    body = """
for i in range(n):
    with T.block("b"):
        vi = T.axis.reduce(n, i)
        with T.init():
            B[0] = T.float32(0)
        B[0] = B[0] + A[vi]
"""
    parameters = "pA: T.handle, B: T.Buffer((1,), 'float32'), n: T.int32"
    declared = "A = T.match_buffer(pA, (n,))\n" + body.lstrip("\n")

    def expand(sch: tir.Schedule) -> None:
        loop = sch.get_loops("b")[0]
        sch.read_at(loop, sch.get_block("b"), 0, "shared")
        sch.expand_scalar("A_shared", sch.get_loops("b")[0])

    assert outcome(parameters, declared, expand) == "same"


def test_inspect_split_of_a_reduction_whose_domain_the_loop_changes():
    body = """
for i in range(1):
    for j in range(i):
        with T.block("b"):
            vi = T.axis.reduce(1, i)
            vj = T.axis.reduce((i, 1), j)
            with T.init():
                A[1] = 0
            A[1] = 7
"""

    def split(sch: tir.Schedule) -> None:
        sch.inspect_split(sch.get_loop("i"), parts=64)

    assert outcome("A: T.Buffer((2,), 'int32')", body, split) == "empty_reductions_start"


def test_parallel_scan_of_one_iteration_whose_element_the_loop_names():
    body = """
for i in range(2, 4, 2):
    A[i % 2] = A[i % 2] + B[i]
"""

    def scan(sch: tir.Schedule) -> None:
        sch.parallel_scan(sch.get_loop("i"), length=4096)

    parameters = "A: T.Buffer((2,), 'int32'), B: T.Buffer((4,), 'int32')"
    assert outcome(parameters, body, scan) == "same"


def test_cache_index_of_an_axis_that_runs_backwards_to_nothing():
    body = """
with T.block("b"):
    vi = T.axis.reduce((2, 0), 2)
    T.where(T.bool(False))
    A[0] = A[vi // 2]
"""

    def cache(sch: tir.Schedule) -> None:
        sch.cache_index("b", "global")

    assert outcome("A: T.Buffer((4,), 'int32')", body, cache) == "same"


def test_write_at_of_a_block_that_leaves_out_elements_by_continue():
    body = """
for i in range(4):
    with T.block("outer"):
        vi = T.axis.spatial(4, i)
        T.reads()
        T.writes(C[vi, 0:4])
        for j in range(4):
            if j == 3:
                continue
            with T.block("inner"):
                wi = T.axis.spatial(4, vi)
                wj = T.axis.spatial(4, j)
                C[wi, wj] = wi + wj
"""

    def copy(sch: tir.Schedule) -> None:
        sch.write_at(sch.get_loops("outer")[0], sch.get_block("outer"), 0, "shared")

    assert outcome("C: T.Buffer((4, 4), 'int32')", body, copy) == "step_keeps_results"


def test_verify_runs_no_iteration_of_an_empty_loop():
    body = """
for i in range(1):
    for j in range(1):
        B[i, i] = 0
    for k in range(0):
        A[k, k] = 0
"""

    def steps(sch: tir.Schedule) -> None:
        sch.skew("i", "j")
        sch.merge_siblings(["j", "k"])
        sch.inspect_split("i", parts=64)

    assert outcome("A: T.Buffer((1, 1), 'int32'), B: T.Buffer((1, 1), 'int32')", body, steps) == (
        "same"
    )


def test_a_scan_that_says_where_another_statement_stores_is_cut_into_parts():
    body = """
for i in range(n):
    N[0] = N[0] + A[i] % 2
    C[N[0]] = A[i]
"""
    parameters = (
        "A: T.Buffer((n,), 'int32'), N: T.Buffer((1,), 'int32'), "
        "C: T.Buffer((n + 999,), 'int32'), n: T.int32"
    )

    def cut(sch: tir.Schedule) -> None:
        sch.parallel_scan(sch.get_loop("i"), length=16)

    # Where they store, is not known to differ.
    assert outcome(parameters, body, cut) == "step_keeps_results"
    body = """
for i in range(1):
    N[0] = N[0] * 2
    C[N[0] % 2, i] = 1
"""
    parameters = "N: T.Buffer((1,), 'int32'), C: T.Buffer((1, 1), 'int32')"
    assert outcome(parameters, body, cut) == "same"


def test_a_consumer_that_never_runs_does_not_run_at_its_producer():
    body = """
T0 = T.alloc_buffer((4, 6), "int32")
for i, j in T.grid(4, 6):
    with T.block("T0"):
        vi, vj = T.axis.remap("SS", [i, j])
        T0[vi, vj] = A[vi, vj]
for i, j, k in T.grid(4, 6, 0):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        vj = T.axis.spatial(6, j + k)
        B[vi, vj] = T0[vi, vj]
"""
    parameters = 'A: T.Buffer((4, 6), "int32"), B: T.Buffer((4, 6), "int32")'

    def move(sch: tir.Schedule) -> None:
        sch.reverse_compute_at("B", sch.get_loops("T0")[1])

    assert outcome(parameters, body, move) == "step_keeps_results"
    symbolic = body.replace("(4, 6, 0)", "(4, 6, n)")
    assert outcome(parameters + ", n: T.int32", symbolic, move) == "step_keeps_results"


@pytest.mark.parametrize("consumer", ["copy", "scaled"])
def test_a_consumer_is_not_computed_where_a_guard_leaves_out_a_part_of_the_tile(consumer: str):
    body = f"""
G = T.alloc_buffer((24,), "float32")
C = T.alloc_buffer((24,), "float32")
for i in range(3):
    for a, b in T.grid(1, 16):
        with T.block("P"):
            vi = T.axis.spatial(24, i * 8 + a * 16 + b)
            T.where(a * 16 + b < 8)
            G[vi] = A[vi] * T.float32(2)
    for b in range(8):
        with T.block("{consumer}"):
            vi = T.axis.spatial(24, i * 8 + b)
            C[vi] = G[vi]{" * T.float32(3)" if consumer == "scaled" else ""}
    for b in range(8):
        with T.block("D"):
            vi = T.axis.spatial(24, i * 8 + b)
            D[vi] = C[vi] + T.float32(1)
"""
    parameters = 'A: T.Buffer((24,), "float32"), D: T.Buffer((24,), "float32")'
    code = outcome(parameters, body, lambda sch: sch.reverse_compute_at(consumer, "a"))
    assert code == "step_keeps_results"


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


def test_a_value_that_an_earlier_iteration_left_is_not_computed_anew():
    body = """
B = T.alloc_buffer((1,), "int32")
C = T.alloc_buffer((3,), "int32")
for i in range(3):
    B[0] = A[i]
    with T.block("C"):
        vi = T.axis.spatial(3, i)
        C[vi] = B[0]
    with T.block("D"):
        vi = T.axis.spatial(3, i)
        D[vi] = C[vi % 2] + C[vi]
"""
    parameters = 'A: T.Buffer((3,), "int32"), D: T.Buffer((3,), "int32")'
    code = outcome(parameters, body, lambda sch: sch.compute_inline("C"))
    assert code == "step_keeps_results"


def test_a_cache_copies_nothing_that_was_not_written():
    body = """
B = T.alloc_buffer((6, 6), "int32")
for i in range(6):
    if i == 5:
        continue
    for j in range(6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vj]
for i in range(4):
    with T.block("D"):
        vi = T.axis.spatial(4, i)
        D[vi] = B[vi, vi] + B[5 - vi, vi]
"""
    parameters = 'A: T.Buffer((6,), "int32"), D: T.Buffer((4,), "int32")'
    code = outcome(parameters, body, lambda sch: sch.cache_read("D", "B", "global"))
    assert code == "step_keeps_results"


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


def test_padding_writes_no_element_that_others_read():
    body = """
for i in range(2):
    with T.block("b"):
        vi = T.axis.spatial(2, i)
        B[vi] = A[vi] * 2
for j in range(6):
    with T.block("c"):
        vj = T.axis.spatial(6, j)
        C[vj] = B[vj]
"""
    sizes = {"A": 2, "B": 6, "C": 6}
    parameters = ", ".join(f'{name}: T.Buffer(({size},), "int32")' for name, size in sizes.items())
    assert outcome(parameters, body, lambda sch: sch.pad_einsum("b", [4])) == "same"


def test_no_part_of_a_loop_without_iterations_is_peeled():
    body = """
for i in range(0):
    with T.block("b"):
        vi = T.axis.reduce(0, i)
        with T.init():
            B[1] = 0
        B[1] = 1
"""
    parameters = 'B: T.Buffer((2,), "int32")'
    assert outcome(parameters, body, lambda sch: sch.peel("i", first=0, align=2)) == (
        "peeled_iterations_fit"
    )


def test_padded_loops_keep_their_type():
    body = """
for i in range(T.int64(1)):
    with T.block("b"):
        vi = T.axis.spatial(1, i)
        C[vi] = 0
for j in range(1):
    with T.block("c"):
        vj = T.axis.spatial(1, j)
        D[vj] = 1
"""
    parameters = 'C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")'

    def pad(sch: tir.Schedule) -> None:
        sch.pad_einsum("b", [2])
        sch.merge_siblings("i", "j")

    assert outcome(parameters, body, pad) == "nests_are_alike"


def test_domains_of_axes_follow_a_layout():
    body = """
for i in range(3):
    for j in range(i):
        A[i] = A[j]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.inspect_split("i", parts=2)
        sch.normalize_nest("i")
        sch.transform_layout("A", ("read", 1), lambda x: [x, 0])

    assert outcome('A: T.Buffer((3,), "uint32")', body, steps) == "same"


def test_a_block_of_blocks_may_write_elements_twice():
    body = """
L = T.alloc_buffer((4,), "int32")
for i in range(4):
    with T.block("L"):
        vi = T.axis.spatial(4, i)
        L[vi] = A[vi]
for i, j in T.grid(4, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(L[vj], D[vi, vj])
        T.writes(B[vi + vj])
        for k in range(1):
            with T.block("inner"):
                ui = T.axis.spatial(4, vi)
                uj = T.axis.spatial(4, vj)
                B[ui + uj] = L[uj] + D[ui, uj]
"""
    parameters = (
        'A: T.Buffer((4,), "int32"), B: T.Buffer((8,), "int32"), D: T.Buffer((4, 4), "int32")'
    )
    move = lambda sch: sch.reverse_compute_at("B", sch.get_loops("L")[0])  # noqa: E731
    assert outcome(parameters, body, move) == "step_keeps_results"
    tiles = body.replace("B[vi + vj]", "B[vi * 2:vi * 2 + 2, vj]").replace(
        "B[ui + uj]", "B[ui * 2, uj]"
    )
    parameters = parameters.replace("B: T.Buffer((8,)", "B: T.Buffer((8, 4)")
    assert outcome(parameters, tiles, move) == "same"


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


def test_copies_of_a_view_stand_where_it_is_declared():
    body = """
C = T.alloc_buffer((5,), "uint32")
V = T.decl_buffer((5,), "uint32", data=A.data, elem_offset=1)
for i in range(5):
    with T.block("b"):
        vi = T.axis.spatial(5, i)
        C[vi] = V[vi]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.set_layout("C", lambda x: [x // 4, x % 4], pad=0)
        sch.reindex("b", "V")

    assert outcome('A: T.Buffer((7,), "uint32")', body, steps) == "same"


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


def test_divisors_read_the_loops_of_a_split():
    body = """
for i in range(8):
    for j in range(i):
        for k in range(T.max(i, 1) - 1):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(8, j)
                vk = T.axis.spatial(8, k)
                D[vi, vj, vk] = T.float32(1)
"""

    def steps(sch: tir.Schedule) -> None:
        sch.fuse("j", "k")
        sch.split("i", [3, None])

    assert outcome('D: T.Buffer((8, 8, 8), "float32")', body, steps) == "same"


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


def test_no_axis_is_padded_that_bounds_of_loops_inside_read():
    body = """
B = T.alloc_buffer((2,))
for i in range(2):
    for k in range(i + 1):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(1)
            B[vi] = B[vi] + A[vk]
"""
    parameters = 'A: T.Buffer((2,), "float32")'
    assert outcome(parameters, body, lambda sch: sch.pad_axes("b", [3, 1])) == (
        "axes_have_loops_of_their_own"
    )


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


def test_variables_that_are_not_counted_stay():
    body = """
k = T.alloc_buffer((), "int32")
k[()] = 0
for i in range(4):
    A[k[()]] = 1
    if A[i] > 0:
        k[()] = k[()] + 1
"""
    parameters = 'A: T.Buffer((8,), "int32")'
    assert (
        outcome(parameters, body, lambda sch: sch.substitute_scalar("k", "i")) == "scalar_is_known"
    )
