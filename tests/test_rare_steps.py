# SPDX-License-Identifier: Apache-2.0
"""Steps on rare programs: they are refused, or keep the result."""

from __future__ import annotations

from collections.abc import Callable

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
    assert code == "step_keeps_results"


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


def test_what_uses_a_loop_itself_is_not_inlined_into_axes():
    body = """
C = T.alloc_buffer((1,))
D = T.alloc_buffer((1,))
for i in range(1):
    with T.block("b"):
        T.where(False)
        T.reads(C[i])
        T.writes(D[0])
        D[0] = C[i]
"""

    def steps(sch: tir.Schedule) -> None:
        sch.blockize("b")
        sch.cache_write("b", 0, "shared")
        sch.compute_inline("b")

    assert outcome('A: T.Buffer((1,), "float32")', body, steps) == "block_uses_axes_alone"


def test_parts_of_a_triangular_loop_read_no_loop_around_inside_of_blocks() -> None:
    func = ls.from_source("""
@T.prim_func
def main(B: T.Buffer((3,), "float32")):
    for i0 in range(1, 3):
        for i1 in range(i0 + 1):
            with T.block("b0"):
                vi0 = T.axis.spatial((1, 3), i0)
                vi1 = T.axis.spatial(3, i1)
                B[vi0] = T.if_then_else(vi1 >= 2, T.float32(1), T.float32(2))
""")
    sch = tir.Schedule(func)
    sch.peel("i1", first=1, last=1)
    ls.from_source(sch.func.script())
    assert sch.verify()


def test_a_condition_around_a_producer_is_not_one_of_what_follows() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((6,), "int32"), B: T.Buffer((6, 6), "int32"), C: T.Buffer((6, 6), "int32")):
    for i0 in range(6):
        if i0 >= 1 and i0 < 5:
            for i1 in range(6):
                with T.block("b0"):
                    vi0, vi1 = T.axis.remap("SS", [i0, i1])
                    B[vi1, vi0] = A[vi1]
    for i2, i3 in T.grid(6, 6):
        with T.block("C"):
            vi2, vi3 = T.axis.remap("SS", [i2, i3])
            C[vi2, vi3] = B[vi3, vi2] * 2
""")
    sch = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError, match="would not run any more"):
        sch.reverse_compute_at("C", "i1")
