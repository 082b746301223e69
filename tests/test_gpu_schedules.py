# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs in the orders in which people write them."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812

MATMUL = """
@T.prim_func
def main(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64, 64))):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def finished(sch: tir.Schedule) -> None:
    """Check a schedule that has all of its steps."""
    assert sch.obligations() == []
    assert sch.verify()


def share_fetch(sch: tir.Schedule, block: tir.BlockRV, dims: int, threads: list[int]) -> None:
    """Fuse the last loops of a copy and share them out to threads, y before x."""
    fused = sch.fuse(*sch.get_loops(block)[-dims:])
    parts = sch.split(fused, [None, *threads])
    for loop, axis in zip(parts[1:], ["threadIdx.y", "threadIdx.x"][-len(threads) :]):
        sch.bind(loop, axis)


@pytest.mark.parametrize("binds_first", [True, False])
def test_a_matmul_with_two_levels_of_caches(binds_first: bool) -> None:
    sch = tir.Schedule(ls.from_source(MATMUL))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    bi, ti, ii = sch.split(i, [2, 4, 8])
    bj, tj, jj = sch.split(j, [2, 4, 8])
    k0, k1, k2 = sch.split(k, [None, 4, 2])
    sch.reorder(bi, bj, ti, tj, k0, k1, k2, ii, jj)
    axes = {bi: "blockIdx.y", bj: "blockIdx.x", ti: "threadIdx.y", tj: "threadIdx.x"}
    if binds_first:
        for loop, axis in axes.items():
            sch.bind(loop, axis)
    result = sch.cache_write(block, 0, "local")
    shared = [sch.cache_read(block, number, "shared") for number in (0, 1)]
    local = [sch.cache_read(block, number, "local") for number in (0, 1)]
    if not binds_first:
        for loop, axis in axes.items():
            sch.bind(loop, axis)
    # Copies of threads stand outside of their loops so far.
    assert any("C_local, which is local memory" in text for text in sch.obligations())
    with pytest.raises(ls.ScheduleError, match=r"verify: of buffer .*_local, which is") as no:
        sch.verify()
    assert no.value.code == "thread_memory_stays_inside"
    sch.reverse_compute_at(result, tj)
    for copy in local:
        sch.compute_at(copy, k1)
    for copy in shared:
        sch.compute_at(copy, k0)
        share_fetch(sch, copy, 2, [4, 4])
    sch.decompose_reduction(block, k0)
    finished(sch)


def test_a_matmul_of_any_size_that_is_padded() -> None:
    text = MATMUL.replace("A: T.Buffer((64, 64))", "a: T.handle").replace(
        "C: T.Buffer((64, 64))):",
        "c: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n, 64))\n"
        "    C = T.match_buffer(c, (n, 64))",
    )
    sch = tir.Schedule(ls.from_source(text.replace("T.grid(64, 64, 64)", "T.grid(n, 64, 64)")))
    block = sch.get_block("C")
    for selector in (("read", 0), ("read", 1), ("write", 0)):
        sch.reindex(block, selector)
    sch.pad_einsum(block, [32, 32, 8])
    i, j, k = sch.get_loops(block)
    bi, ti, ii = sch.split(i, [None, 8, 4])
    bj, tj, jj = sch.split(j, [None, 8, 4])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(bi, bj, ti, tj, k0, k1, ii, jj)
    axes = {bi: "blockIdx.y", bj: "blockIdx.x", ti: "threadIdx.y", tj: "threadIdx.x"}
    for loop, axis in axes.items():
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), tj, preserve_unit_loops=True)
    for number in (0, 1):
        copy = sch.cache_read(block, number, "shared")
        sch.compute_at(copy, k0, preserve_unit_loops=True)
        share_fetch(sch, copy, 2, [8, 8])
    sch.decompose_reduction(block, k0)
    finished(sch)


def test_a_transpose_through_shared_memory() -> None:
    sch = tir.Schedule(
        ls.from_source("""
@T.prim_func
def main(A: T.Buffer((64, 64)), B: T.Buffer((64, 64))):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
""")
    )
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 8])
    sch.reorder(i0, j0, i1, j1)
    for loop, axis in zip((i0, j0, i1, j1), ("y", "x", "y", "x")):
        sch.bind(loop, f"{'blockIdx' if loop in (i0, j0) else 'threadIdx'}.{axis}")
    copy = sch.cache_read(block, 0, "shared")
    sch.compute_at(copy, j0)
    y, x = sch.get_loops(copy)[-2:]
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")
    finished(sch)


SOFTMAX = """
@T.prim_func
def main(A: T.Buffer((32, 64)), O: T.Buffer((32, 64))):
    M = T.alloc_buffer((32,))
    E = T.alloc_buffer((32, 64))
    S = T.alloc_buffer((32,))
    for i, k in T.grid(32, 64):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(32, 64):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(32, 64):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(32, 64):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = E[vi, vj] / S[vi]
"""


@pytest.mark.parametrize("scope_first", [True, False])
def test_stages_of_a_softmax_in_the_blocks_of_its_rows(scope_first: bool) -> None:
    sch = tir.Schedule(ls.from_source(SOFTMAX))
    i, j = sch.get_loops("O")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(j, [None, 16])[1], "threadIdx.x")
    for name in ("S", "E", "M"):
        if scope_first:
            sch.set_scope(name, 0, "shared")
        sch.compute_at(name, i, preserve_unit_loops=True)
        if not scope_first:
            sch.set_scope(name, 0, "shared")
        sch.bind(sch.split(sch.get_loops(name)[-1], [None, 16])[1], "threadIdx.x")
    finished(sch)


def test_rows_that_threads_add_up_each_a_part() -> None:
    sch = tir.Schedule(
        ls.from_source("""
@T.prim_func
def main(A: T.Buffer((64, 256)), B: T.Buffer((256,)), C: T.Buffer((64,))):
    for i, k in T.grid(64, 256):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]
""")
    )
    i, k = sch.get_loops("C")
    sch.split(i, [None, 4])
    parts = sch.rfactor(sch.split(k, [None, 32])[1], 0)
    rows, _, threads = sch.get_loops("C")
    sch.bind(rows, "blockIdx.x")
    sch.compute_at(parts, rows, preserve_unit_loops=True)
    sch.set_scope(parts, 0, "local")
    sch.bind(sch.get_loops(parts)[1], "threadIdx.x")
    assert len(sch.obligations()) == 1
    sch.bind(threads, "threadIdx.x")
    # Each thread reads the part that it added up.
    finished(sch)


def test_threads_add_up_what_they_made_in_the_same_loop() -> None:
    sch = tir.Schedule(
        ls.from_source("""
@T.prim_func
def main(A: T.Buffer((8, 256)), C: T.Buffer((8,))):
    for i, k in T.grid(8, 256):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
""")
    )
    _, k = sch.get_loops("C")
    parts = sch.rfactor(sch.split(k, [None, 32])[1], 0)
    rows, threads = sch.get_loops("C")
    sch.bind(rows, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    sch.compute_at(parts, threads)
    sch.set_scope(parts, 0, "local")
    finished(sch)
    a = np.random.default_rng(1).random((8, 256), "float32")
    c = np.zeros(8, "float32")
    ls.interp.run(ls.lower(sch), a, c)
    np.testing.assert_allclose(c, a.sum(1), rtol=1e-5)


def test_memory_of_threads_is_not_read_by_others() -> None:
    sch = tir.Schedule(
        ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,)), B: T.Buffer((32,))):
    S = T.alloc_buffer((32,), scope="local")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("S"):
            vi = T.axis.spatial(32, i)
            S[vi] = A[vi]
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = S[31 - vi]
""")
    )
    assert len(sch.obligations()) == 2


def test_elements_of_any_shape_in_threads() -> None:
    source = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m, k = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (n, m, k))
    B = T.match_buffer(b, (n, m, k))
    for i, j, l in T.grid(n, m, k):
        with T.block("B"):
            vi, vj, vl = T.axis.remap("SSS", [i, j, l])
            B[vi, vj, vl] = A[vi, vj, vl] + T.float32(1)
"""
    sch = tir.Schedule(ls.from_source(source))
    blocks, threads = sch.split(sch.fuse(*sch.get_loops("B")), [None, 128])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    finished(sch)
    sch = tir.Schedule(ls.from_source(source))
    sch.parallel(sch.fuse(*sch.get_loops("B")))
    a = np.random.default_rng(1).random((3, 5, 7), "float32")
    b = np.zeros_like(a)
    ls.build(sch)(a, b)
    np.testing.assert_array_equal(b, a + 1)


CONVOLUTION = """
@T.prim_func
def main(X: T.Buffer((1, 4, 14, 14)), W: T.Buffer((8, 4, 3, 3)), Y: T.Buffer((1, 8, 14, 14))):
    P = T.alloc_buffer((1, 4, 16, 16))
    for n, c, h, w in T.grid(1, 4, 16, 16):
        with T.block("P"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < 15 and 1 <= vw and vw < 15,
                X[vn, vc, vh - 1, vw - 1], T.float32(0))
    for n, f, h, w, c, y, x in T.grid(1, 8, 14, 14, 4, 3, 3):
        with T.block("Y"):
            vn, vf, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, f, h, w, c, y, x])
            with T.init():
                Y[vn, vf, vh, vw] = T.float32(0)
            Y[vn, vf, vh, vw] = (
                Y[vn, vf, vh, vw] + P[vn, vc, vh + vy, vw + vx] * W[vf, vc, vy, vx])
"""


def test_a_convolution_as_a_search_tiles_it() -> None:
    sch = tir.Schedule(ls.from_source(CONVOLUTION))
    block = sch.get_block("Y")
    n, f, h, w, c, y, x = sch.get_loops(block)
    spatial = list(
        zip(
            sch.split(n, [1, 1, 1, 1]),
            sch.split(f, [2, 1, 4, 1]),
            sch.split(h, [7, 1, 2, 1]),
            sch.split(w, [1, 1, 14, 1]),
        )
    )
    reduced = list(zip(sch.split(c, [2, 1, 2]), sch.split(y, [1, 3, 1]), sch.split(x, [3, 1, 1])))
    sch.reorder(*(loop for group in [*spatial[:3], *reduced, spatial[3]] for loop in group))
    for group, axis in zip(spatial, ("blockIdx.x", "vthread.x", "threadIdx.x")):
        threads = sch.fuse(*group)
        sch.bind(threads, axis)
    result = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(result, threads, preserve_unit_loops=True)
    for number in (0, 1):
        copy = sch.cache_read(block, number, "shared")
        sch.compute_at(copy, reduced[0][-1], preserve_unit_loops=True)
        share_fetch(sch, copy, 4, [112])
    sch.compute_inline("P")
    sch.decompose_reduction(block, reduced[0][0])
    finished(sch)


def test_tiles_that_come_from_other_tiles_wait_for_them() -> None:
    @T.prim_func
    def tiles(A: T.Buffer((4, 32), "float32"), D: T.Buffer((4, 32), "float32")) -> None:
        P = T.alloc_buffer((32,), scope="local")
        S = T.alloc_buffer((32,), scope="shared")
        U = T.alloc_buffer((32,), scope="shared")
        for i in range(32):
            for k in range(4):
                for j in range(32):
                    with T.block("S"):
                        vj = T.axis.spatial(32, j)
                        vk = T.axis.opaque(4, k)
                        S[vj] = A[vk, vj]
                for m in range(32):
                    with T.block("P"):
                        vm = T.axis.spatial(32, m)
                        P[vm] = S[31 - vm] * T.float32(2)
                    with T.block("U"):
                        vm = T.axis.spatial(32, m)
                        U[vm] = P[vm] + T.float32(1)
                with T.block("D"):
                    vi = T.axis.spatial(32, i)
                    vk = T.axis.spatial(4, k)
                    D[vk, vi] = U[31 - vi] * T.float32(vi)

    sch = tir.Schedule(tiles)
    for loop in (sch.get_loops("P")[2], sch.get_loops("S")[0], sch.get_loops("S")[2]):
        sch.bind(loop, "threadIdx.x")
    lowered = ls.lower(sch.func, target="cuda")
    assert lowered.script().count("tvm_storage_sync") == 2
    ls.interp.assert_same(lowered, tiles)
