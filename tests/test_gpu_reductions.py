# SPDX-License-Identifier: Apache-2.0
"""Reductions over the threads of a block."""

from __future__ import annotations

import gpu_devices
import numpy as np
import pytest
import test_gpu_schedules as schedules
from gpu_programs import RNG, ROWS, run, scheduled_by, script

import loopsmith as ls
from loopsmith import te, tir


@gpu_devices.both
def test_a_matrix_times_a_vector_by_rfactor(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sch = scheduled_by(monkeypatch, schedules.test_rows_that_threads_add_up_each_a_part)
    a, b = RNG.random((64, 256), "float32"), RNG.random(256, "float32")
    c = np.zeros(64, "float32")
    run(sch, target, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@gpu_devices.both
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint16", "int64"])
def test_rows_are_added_up_by_threads_of_a_grid_of_rows(target: str, dtype: str) -> None:
    # Neither the rows nor the columns divide.
    sch = script(ROWS.replace("DTYPE", dtype))
    i, k = sch.get_loops("C")
    blocks, rows = sch.split(i, [None, 4])
    _, columns = sch.split(k, [None, 24])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(rows, "threadIdx.y")
    sch.bind(columns, "threadIdx.x")
    a = RNG.integers(-3, 4, (30, 200)).astype(dtype)
    c = np.zeros(30, dtype)
    run(sch, target, a, c)
    np.testing.assert_array_equal(c, a.sum(1, dtype=dtype))
    ls.assert_same(sch.func, ls.lower(sch, target=target).without_attr("tir.is_scheduled"))


@gpu_devices.both
def test_the_place_of_a_maximum_is_found_by_threads(target: str) -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((6, 100), "float32"), I: T.Buffer((6,), "int32"),
         V: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 100):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                V[vi] = T.min_value("float32")
            v_i: T.int32 = T.Select(V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] <= vk,
                                    I[vi], vk)
            v_v: T.float32 = T.Select(V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] <= vk,
                                      V[vi], A[vi, vk])
            I[vi] = v_i
            V[vi] = v_v
""")
    i, k = sch.get_loops("M")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(k, [None, 16])[1], "threadIdx.x")
    a = RNG.integers(0, 9, (6, 100)).astype("float32")
    places, values = np.zeros(6, "int32"), np.zeros(6, "float32")
    run(sch, target, a, places, values)
    np.testing.assert_array_equal(places, a.argmax(1))
    np.testing.assert_array_equal(values, a.max(1))


@gpu_devices.both
def test_virtual_threads_have_sums_of_their_own(target: str) -> None:
    # Memory of a reduction inside of virtual threads has room for each group of threads.
    sch = script(ROWS.replace("DTYPE", "int32"))
    i, k = sch.get_loops("C")
    blocks, rows, virtual = sch.split(i, [None, 4, 3])
    for loop, axis in ((blocks, "blockIdx.x"), (rows, "threadIdx.y"), (virtual, "vthread.x")):
        sch.bind(loop, axis)
    sch.bind(sch.split(k, [None, 32])[1], "threadIdx.x")
    a, c = RNG.integers(-9, 9, (30, 200)).astype("int32"), np.zeros(30, "int32")
    run(sch, target, a, c)
    np.testing.assert_array_equal(c, a.sum(1))


@gpu_devices.both
def test_every_thread_of_a_group_gets_its_sum(target: str) -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    S = T.alloc_buffer((8,), scope="shared")
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = A[vi, vk] / S[vi]
""")
    a = RNG.random((8, 64), "float32")
    b = np.zeros_like(a)
    run(sch, target, a, b)
    np.testing.assert_allclose(b, a / a.sum(1, keepdims=True), rtol=1e-5)


@gpu_devices.both
@pytest.mark.parametrize("inside", [True, False])
def test_a_sum_by_a_schedule_of_tensors(target: str, inside: bool) -> None:
    x = te.placeholder((1024,), name="X")
    k = te.reduce_axis((0, 1024), name="k")
    y = te.compute((1,), lambda i: te.sum(x[k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    _, ki = s[y].split(y.op.reduce_axis[0], factor=32)
    if inside:
        parts = s.rfactor(y, ki)
        s[y].bind(s[y].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
        s[parts].compute_at(s[y], s[y].op.reduce_axis[0])
    else:
        s[y].bind(ki, te.thread_axis("threadIdx.x"))
    gpu_devices.require(target)
    a, b = RNG.random(1024, "float32"), np.zeros(1, "float32")
    ls.build(s, [x, y], target=target)(a, b)
    np.testing.assert_allclose(b[0], a.sum(), rtol=1e-5)


WARPS = """
@T.prim_func
def main(A: T.Buffer((6, 256), "DTYPE"), C: T.Buffer((6,), "DTYPE")):
    for i, k in T.grid(6, 256):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.cast(0, "DTYPE")
            C[vi] = C[vi] + A[vi, vk]
"""


def by_warps(dtype: str, threads: int) -> tir.Schedule:
    """Return sums of rows, each by that many threads of a block."""
    sch = script(WARPS.replace("DTYPE", dtype))
    i, k = sch.get_loops("C")
    _, columns = sch.split(k, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(columns, "threadIdx.x")
    return sch


@pytest.mark.parametrize("threads", [2, 8, 32, 64, 96, 256])
@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "int8"])
def test_lanes_of_a_warp_exchange_their_parts(dtype: str, threads: int) -> None:
    sch = by_warps(dtype, threads)
    a, c = RNG.integers(-3, 4, (6, 256)).astype(dtype), np.zeros(6, dtype)
    module = run(sch, "cuda", a, c)
    np.testing.assert_array_equal(c, a.sum(1, dtype=dtype))
    source = module.source("cuda")
    lanes, warps = min(threads, 32), max(threads // 32, 1)
    steps = int(np.log2(lanes)) + int(np.ceil(np.log2(warps)))
    assert source.count("__shfl_sync(") == steps
    assert source.count("__syncthreads();") == (0 if warps == 1 else 1)
    ls.assert_same(sch.func, ls.lower(sch, target="cuda").without_attr("tir.is_scheduled"))


def test_groups_of_lanes_have_sums_of_their_own() -> None:
    sch = script(WARPS.replace("DTYPE", "int32"))
    i, k = sch.get_loops("C")
    blocks, rows = sch.split(i, [None, 4])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(rows, "threadIdx.y")
    sch.bind(sch.split(k, [None, 8])[1], "threadIdx.x")
    a, c = RNG.integers(-9, 9, (6, 256)).astype("int32"), np.zeros(6, "int32")
    module = run(sch, "cuda", a, c)
    np.testing.assert_array_equal(c, a.sum(1))
    assert "__shared__" not in module.source("cuda").split("__global__")[1]
    # The rows do not divide: some threads have nothing to store, and exchange all the same.
    ls.assert_same(sch.func, ls.lower(sch, target="cuda").without_attr("tir.is_scheduled"))


def test_lanes_that_some_rows_lack_do_not_exchange() -> None:
    """Another nest of the kernel has more rows of threads, so that some lanes would stay away."""
    sch = script("""
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32"), D: T.Buffer((6,), "int32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(4, thread="threadIdx.y"):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + A[vi, vk]
        for j in T.thread_binding(6, thread="threadIdx.y"):
            with T.block("D"):
                vj = T.axis.spatial(6, j)
                D[vj] = vj
""")
    a, c, d = (
        RNG.integers(-9, 9, (4, 8)).astype("int32"),
        np.zeros(4, "int32"),
        np.zeros(6, "int32"),
    )
    module = run(sch, "cuda", a, c, d)
    np.testing.assert_array_equal(c, a.sum(1))
    np.testing.assert_array_equal(d, np.arange(6))
    assert "__shfl_sync(" not in module.source("cuda").split("__global__")[1]


SHUFFLES = """
@T.prim_func
def main(A: T.Buffer((64,), "DTYPE"), B: T.Buffer((64,), "DTYPE")):
    for t in T.thread_binding(64, thread="threadIdx.x"):
        B[t] = (T.tvm_warp_shuffle(T.uint32(4294967295), A[t], 3, 8, 32)
                + T.tvm_warp_shuffle_up(T.uint32(4294967295), A[t], 2, 16, 32)
                + T.tvm_warp_shuffle_down(T.uint32(4294967295), A[t], 1, 32, 32))
"""


@gpu_devices.both
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
def test_shuffles_stand_in_programs(target: str, dtype: str) -> None:
    func = ls.from_source(SHUFFLES.replace("DTYPE", dtype)).with_attr("tir.is_scheduled", 1)
    a, b = RNG.integers(-9, 9, 64).astype(dtype), np.zeros(64, dtype)
    run(func, target, a, b)
    t = np.arange(64)
    up = np.where(t % 16 >= 2, t - 2, t)
    down = np.where(t % 32 < 31, t + 1, t)
    np.testing.assert_array_equal(b, a[t // 8 * 8 + 3] + a[up] + a[down])
    by_interpreter = np.zeros(64, dtype)
    ls.interp.run(func, a, by_interpreter)
    np.testing.assert_array_equal(b, by_interpreter)
    if target == "opencl":
        lowered = np.zeros(64, dtype)
        ls.interp.run(ls.lower(func, target=target), a, lowered)
        np.testing.assert_array_equal(b, lowered)
