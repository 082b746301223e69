# SPDX-License-Identifier: Apache-2.0
"""Questions about programs that `tvm.tir.analysis` answers."""

from __future__ import annotations

from typing import Any

import pytest

from loopsmith.script import tir as T


@T.prim_func
def scaled(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0 + 1.0


@T.prim_func
def product(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")
):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


def block_of(tvm: Any, func: Any, name: str) -> Any:
    sch = tvm.tir.Schedule(func)
    return sch.get(sch.get_block(name))


def test_operations_of_elements_are_counted(tvm: Any) -> None:
    count = tvm.tir.analysis.estimate_tir_flops
    assert count(tvm.IRModule({"main": scaled})) == 8 * 4 * 2
    assert count(product) == 8 * 8 * 8 * 2

    @T.prim_func
    def open_loop(n: T.int32, A: T.Buffer((8,), "float32")):
        for i in range(n):
            A[i % 8] = A[i % 8] + 1.0

    with pytest.raises(ValueError, match="loop i has no constant extent"):
        count(tvm.IRModule({"main": open_loop}))


def test_memory_is_counted_where_it_lives_at_once(tvm: Any) -> None:
    @T.prim_func
    def two_after_each_other(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("first"):
                v = T.axis.spatial(8, i)
                B = T.alloc_buffer((16,), "float16", scope="shared")
                B[v] = T.float16(1)
                A[v] = T.cast(B[v], "float32")
        for i in range(8):
            with T.block("second"):
                v = T.axis.spatial(8, i)
                C = T.alloc_buffer((4,), "float32", scope="shared")
                C[0] = A[v]
                A[v] = C[0]

    found = tvm.tir.analysis.calculate_allocated_bytes(two_after_each_other)
    assert found == {"main": {"shared": 32}}


def test_regions_are_those_that_scripts_complete(tvm: Any) -> None:
    for func, name in ((scaled, "B"), (product, "C")):
        block = block_of(tvm, func, name)
        reads, writes, opaque = tvm.tir.analysis.get_block_access_region(block, {})
        tvm.ir.assert_structural_equal(reads, list(block.reads))
        tvm.ir.assert_structural_equal(writes, list(block.writes))
        assert opaque == []

    @T.prim_func
    def opaque_block(A: T.Buffer((8,), "float32")):
        with T.block("call"):
            T.reads(A[0:8])
            T.writes(A[0:8])
            T.evaluate(T.call_extern("int32", "fill", A.data))

    block = block_of(tvm, opaque_block, "call")
    buffer = block.writes[0].buffer
    both = tvm.tir.analysis.get_block_read_write_region(block, {buffer.data: buffer})
    tvm.ir.assert_structural_equal(both[0], list(block.reads))
    tvm.ir.assert_structural_equal(both[1], list(block.writes))


def test_what_a_loop_touches_is_a_box(tvm: Any) -> None:
    from tvm import tir

    i = tir.Var("i", "int32")
    n = tir.SizeVar("n", "int32")
    A, B = tir.decl_buffer((n,), name="A"), tir.decl_buffer((n,), name="B")
    store = tir.BufferStore(A, tir.BufferLoad(B, [i + 1]) + tir.BufferLoad(B, [i + 3]), [i])
    loop = tir.For(i, 0, n, tir.ForKind.SERIAL, store)
    touched = tvm.arith._ffi_api.DomainTouched
    (stored,) = touched(loop, A, False, True)
    tvm.testing.assert_prim_expr_equal(stored.min, 0)
    tvm.testing.assert_prim_expr_equal(stored.extent, n)
    (loaded,) = touched(loop, B, True, False)
    tvm.testing.assert_prim_expr_equal(loaded.min, 1)
    tvm.testing.assert_prim_expr_equal(loaded.extent, n + 2)
    assert touched(loop, A, True, False) == []


def test_buffers_are_accessed_inside_of_one_place(tvm: Any) -> None:
    @T.prim_func
    def staged(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        B = T.alloc_buffer((8, 8))
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in range(8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj]

    lca = tvm.tir.analysis.detect_buffer_access_lca(staged)
    by_name = {buffer.name: place for buffer, place in lca.items()}
    # Thread blocks share global memory.
    assert all(isinstance(place, tvm.tir.Block) for place in by_name.values())
    serial = tvm.tir.analysis.detect_buffer_access_lca(scaled)
    assert all(place.name_hint == "B" for place in serial.values())


def test_kernels_keep_to_limits(tvm: Any) -> None:
    verify = tvm.tir.analysis.verify_gpu_code
    sch = tvm.tir.Schedule(scaled)
    i, j = sch.get_loops(sch.get_block("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    kernel = sch.mod["main"]
    assert verify(kernel, {"max_threads_per_block": 4, "max_thread_x": 4, "max_kernels": 1})
    assert not verify(kernel, {"max_threads_per_block": 3})
    assert not verify(kernel, {"max_thread_x": 3})
    with pytest.raises(ValueError, match="Invalid check item: max_nothing"):
        verify(kernel, {"max_nothing": 1})
    on_gpu = kernel.with_attr("target", tvm.target.Target("cuda"))
    assert tvm.tir.analysis.verify_memory(on_gpu)
    on_host = scaled.with_attr("target", tvm.target.Target("cuda"))
    assert not tvm.tir.analysis.verify_memory(on_host)
    assert tvm.tir.analysis.verify_memory(scaled)


def test_effects_and_wrong_indices_are_found(tvm: Any) -> None:
    analysis = tvm.tir.analysis

    @T.prim_func
    def twice(x: T.int32) -> T.int32:
        return x * 2

    @T.prim_func
    def calls(x: T.int32) -> T.int32:
        return T.call_extern("int32", "f", x)

    assert analysis.is_pure_function(twice)
    assert analysis.assert_pure_function(twice)
    assert not analysis.is_pure_function(calls)
    with pytest.raises(AssertionError, match="it writes B"):
        analysis.assert_pure_function(scaled)
    assert analysis.verify_ssa(scaled)

    @T.prim_func
    def leaves(A: T.Buffer((8,), "float32")):
        for i in range(9):
            A[i] = 1.0

    @T.prim_func
    def is_guarded(A: T.Buffer((8,), "float32")):
        for i in range(9):
            if i < 8:
                A[i] = 1.0

    check = analysis.OOBChecker()
    with pytest.raises(tvm.tir.ScheduleError, match="index i of axis 0 of buffer A"):
        check(tvm.IRModule({"main": leaves}))
    for func in (is_guarded, scaled):
        check(tvm.IRModule({"main": func}))
