# SPDX-License-Identifier: Apache-2.0
"""Scheduled kernels on devices compute what the program says."""

from __future__ import annotations

import re

import gpu_devices
import numpy as np
import pytest
import test_gpu_schedules as schedules
from gpu_programs import RNG, run, scheduled_by, script

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T  # noqa: N812


@gpu_devices.both
@pytest.mark.parametrize("binds_first", [True, False])
def test_a_matmul_with_two_levels_of_caches(
    target: str, binds_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sch = scheduled_by(monkeypatch, schedules.test_a_matmul_with_two_levels_of_caches, binds_first)
    a, b = RNG.random((2, 64, 64), "float32")
    c = np.zeros((64, 64), "float32")
    module = run(sch, target, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    # A tile of each operand, and two barriers an iteration.
    source = module.source(target)
    assert len(re.findall(r"(__local|__shared__) .*_shared\[256\]", source)) == 2
    assert source.count("barrier(CLK" if target == "opencl" else "__syncthreads();") == 2


@gpu_devices.both
def test_a_transpose_through_shared_memory(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sch = scheduled_by(monkeypatch, schedules.test_a_transpose_through_shared_memory)
    a, b = RNG.random((64, 64), "float32"), np.zeros((64, 64), "float32")
    run(sch, target, a, b)
    np.testing.assert_array_equal(b, a.T)


@gpu_devices.both
@pytest.mark.parametrize("scope_first", [True, False])
def test_a_softmax_whose_rows_threads_share(
    target: str, scope_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sch = scheduled_by(
        monkeypatch,
        schedules.test_stages_of_a_softmax_in_the_blocks_of_its_rows,
        scope_first,
    )
    x = RNG.standard_normal((32, 64)).astype("float32")
    y = np.zeros_like(x)
    run(sch, target, x, y)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)


@gpu_devices.both
def test_a_convolution_with_virtual_threads(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sch = scheduled_by(monkeypatch, schedules.test_a_convolution_as_a_search_tiles_it)
    x, w = RNG.random((1, 4, 14, 14), "float32"), RNG.random((8, 4, 3, 3), "float32")
    y = np.zeros((1, 8, 14, 14), "float32")
    run(sch, target, x, w, y)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = sum(
        np.einsum("nchw,fc->nfhw", padded[:, :, i : i + 14, j : j + 14], w[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(y, expected, rtol=1e-4)


@gpu_devices.both
def test_a_matmul_of_any_size_that_is_padded(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sch = scheduled_by(monkeypatch, schedules.test_a_matmul_of_any_size_that_is_padded)
    for name in ("A_reindex", "B_reindex", "A_reindex_pad", "C_reindex_pad"):
        sch.compute_inline(name)
    blocks, threads = sch.split(sch.fuse(*sch.get_loops("C_reindex")), [None, 64])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    gpu_devices.require(target)
    module = ls.build(sch, target=target)
    b = RNG.random((64, 64), "float32")
    for n in (1, 7, 32, 45, 0):
        a, c = RNG.random((n, 64), "float32"), np.zeros((n, 64), "float32")
        module(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@gpu_devices.both
def test_elements_of_any_shape(target: str) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    x = te.placeholder((n, m), "float32", name="X")
    y = te.compute((n, m), lambda i, j: x[i, j] * 2.0 + 1.0, name="Y")
    sch = tir.Schedule(te.create_prim_func([x, y]))
    blocks, threads = sch.split(sch.fuse(*sch.get_loops("Y")), [None, 32])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    gpu_devices.require(target)
    module = ls.build(sch, target=target)
    for shape in ((3, 5), (1, 1), (32, 2), (33, 31), (0, 4)):
        a = RNG.random(shape, "float32")
        b = np.zeros_like(a)
        module(a, b)
        np.testing.assert_allclose(b, a * 2 + 1, rtol=1e-6)


@gpu_devices.both
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64"])
def test_copies_take_four_elements_at_once(target: str, dtype: str) -> None:
    sch = script(
        schedules.MATMUL.replace("(64, 64))", f'(64, 64), "{dtype}")').replace(
            "T.float32(0)", f'T.cast(0, "{dtype}")'
        )
    )
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 8])
    k0, k1 = sch.split(k, [None, 16])
    sch.reorder(i0, j0, i1, j1, k0, k1)
    for loop, axis in zip(
        (i0, j0, i1, j1), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    ):
        sch.bind(loop, axis)
    lanes = 2 if dtype == "float64" else 4
    for number in (0, 1):
        copy = sch.cache_read("C", number, "shared")
        sch.compute_at(copy, k0)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, _, y, _x, lane = sch.split(fused, [None, 1, 8, 8 // lanes, lanes])
        sch.bind(y, "threadIdx.y")
        sch.vectorize(lane)
    a, b = RNG.integers(-2, 3, (2, 64, 64)).astype(dtype)
    c = np.zeros((64, 64), dtype)
    module = run(sch, target, a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    at_once = {
        "opencl": "vstore",
        "cuda": {"float32": "(int4*)", "float64": "(int4*)"}.get(dtype, "(int"),
    }
    assert module.source(target).count(str(at_once[target])) >= 2


@gpu_devices.both
def test_steps_of_a_recurrence_are_launches(target: str) -> None:
    # Each row is the sum of the one before and its own: prefix sums of columns.
    sch = script("""
@T.prim_func
def main(A: T.Buffer((20, 50), "int32"), S: T.Buffer((20, 50), "int32")):
    for t in range(20):
        for j in range(50):
            with T.block("S"):
                vt = T.axis.opaque(20, t)
                vj = T.axis.spatial(50, j)
                S[vt, vj] = A[vt, vj] + T.if_then_else(vt > 0, S[vt - 1, vj], 0)
""")
    _, j = sch.get_loops("S")
    blocks, threads = sch.split(j, [None, 16])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    a = RNG.integers(-5, 5, (20, 50)).astype("int32")
    s = np.zeros_like(a)
    run(sch, target, a, s)
    np.testing.assert_array_equal(s, a.cumsum(0))


@gpu_devices.both
def test_what_goes_from_kernel_to_kernel_stays_on_the_device(target: str) -> None:
    x = te.placeholder((100,), "float32", name="X")
    y = te.compute((100,), lambda i: x[i] + 1.0, name="Y")
    z = te.compute((100,), lambda i: y[99 - i] * 2.0, name="Z")
    sch = tir.Schedule(te.create_prim_func([x, z]))
    for name in ("Y", "Z"):
        blocks, threads = sch.split(sch.get_loops(name)[0], [None, 32])
        sch.bind(blocks, "blockIdx.x")
        sch.bind(threads, "threadIdx.x")
    a, b = RNG.random(100, "float32"), np.zeros(100, "float32")
    module = run(sch, target, a, b)
    np.testing.assert_allclose(b, (a[::-1] + 1) * 2)
    assert "main_kernel_1(" in module.source(target)


@gpu_devices.both
def test_counts_are_updated_atomically(target: str) -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((1000,), "int32"), H: T.Buffer((10,), "int32")):
    for i in range(1000):
        with T.block("H"):
            vi = T.axis.reduce(1000, i)
            H[A[vi]] = H[A[vi]] + 1
""")
    blocks, threads = sch.split(sch.get_loops("H")[0], [None, 64])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    a = RNG.integers(0, 10, 1000).astype("int32")
    h = np.zeros(10, "int32")
    run(sch, target, a, h)
    np.testing.assert_array_equal(h, np.bincount(a, minlength=10))


@gpu_devices.both
def test_a_scalar_of_each_kind_reaches_the_kernel(target: str) -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32"), k: T.int32,
         x: T.float32, h: T.float16, flag: T.bool, d: T.float64):
    for i in range(40):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi] = (A[vi] * x + T.cast(k, "float32") + T.cast(h, "float32")
                     + T.cast(d, "float32") + T.if_then_else(flag, T.float32(100), T.float32(0)))
""")
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    a, b = RNG.random(40, "float32"), np.zeros(40, "float32")
    run(sch, target, a, b, 3, 2.0, 0.5, True, 0.25)
    np.testing.assert_allclose(b, a * 2 + 103.75, rtol=1e-6)


@gpu_devices.both
def test_rows_with_gaps_between_them(target: str) -> None:
    sch = script("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m, s = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), strides=(s, 1))
    B = T.match_buffer(b, (n, m))
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
""")
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(j, [None, 8])[1], "threadIdx.x")
    a, b = RNG.random((5, 20), "float32"), np.zeros((5, 13), "float32")
    run(sch, target, a[:, :13], b)
    np.testing.assert_array_equal(b, a[:, :13] * 2)
    with pytest.raises(ls.CallError, match="its stride -20 in dimension 0 is negative") as caught:
        ls.build(sch, target=target)(a[::-1, :13], b)
    assert caught.value.code == "array_runs_forward"


def with_pool(kib: int) -> tir.Schedule:
    """Return a kernel that turns rows around in so much shared memory of the launch."""
    count = kib * 256
    return script(f"""
@T.prim_func
def main(A: T.Buffer((2, {count}), "float32"), B: T.Buffer((2, {count}), "float32")):
    S = T.alloc_buffer((2, {count}), scope="shared.dyn")
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for i in range({count // 64}):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("S"):
                    vb = T.axis.spatial(2, b)
                    vi = T.axis.spatial({count}, i * 64 + t)
                    S[vb, vi] = A[vb, vi] + T.float32(1)
        for i in range({count // 64}):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    vb = T.axis.spatial(2, b)
                    vi = T.axis.spatial({count}, i * 64 + t)
                    B[vb, vi] = S[vb, {count - 1} - vi]
""")


@pytest.mark.parametrize("kib", [40, 96])
def test_shared_memory_of_a_launch_is_larger_than_what_kernels_declare(kib: int) -> None:
    count = kib * 256
    sch = with_pool(kib)
    a, b = RNG.random((2, count), "float32"), np.zeros((2, count), "float32")
    module = run(sch, "cuda", a, b)
    np.testing.assert_array_equal(b, a[:, ::-1] + 1)
    assert "LS_SHARED_POOL(shared_memory);" in module.source("cuda")


def test_a_launch_that_asks_for_more_shared_memory_than_the_device_has_is_refused() -> None:
    gpu_devices.require("cuda")
    a, b = (np.zeros((2, 240 * 256), "float32") for _ in range(2))
    with pytest.raises(ls.CallError, match="needs 245760 bytes of shared memory: ") as caught:
        ls.build(with_pool(240), target="cuda -max_shared_memory_per_block=1000000")(a, b)
    assert caught.value.code == "shared_memory_fits_device"
    assert "cache smaller tiles, or say what the device has" in str(caught.value)


def vector_sums(dtype: str, lanes: int) -> tir.Schedule:
    """Return elements twice and one, so many of them by a thread."""
    x = te.placeholder((8, 256), dtype, name="X")
    y = te.compute((8, 256), lambda i, j: x[i, j] + x[i, j] + te.const(1, dtype), name="Y")
    sch = tir.Schedule(te.create_prim_func([x, y]))
    i, j = sch.get_loops("Y")
    sch.bind(i, "blockIdx.x")
    _, threads, elements = sch.split(j, [None, 8, lanes])
    sch.bind(threads, "threadIdx.x")
    sch.vectorize(elements)
    return sch


@gpu_devices.both
@pytest.mark.parametrize(
    ("dtype", "lanes"), [("float32", 4), ("float32", 2), ("float16", 8), ("int8", 16), ("int8", 8)]
)
def test_neighbours_are_loaded_and_stored_at_once(target: str, dtype: str, lanes: int) -> None:
    sch = vector_sums(dtype, lanes)
    a = RNG.integers(-9, 9, (8, 256)).astype(dtype)
    b = np.zeros_like(a)
    module = run(sch, target, a, b)
    np.testing.assert_array_equal(b, a + a + a.dtype.type(1))
    width = lanes * a.itemsize // 4
    at_once = f"vload{lanes}(" if target == "opencl" else f"*(const int{width}*)"
    assert module.source(target).count(at_once) == 2  # What is read, and what is made.


@gpu_devices.both
def test_statements_beside_kernels_are_run_once(target: str) -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((40,), "int32"), B: T.Buffer((41,), "int32")):
    B[0] = 7
    for i in range(40):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi + 1] = A[vi] + 1
    B[40] = B[1] + 2
""")
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    a, b = RNG.integers(-9, 9, 40).astype("int32"), np.zeros(41, "int32")
    module = run(sch, target, a, b)
    np.testing.assert_array_equal(b, np.concatenate([[7], a[:-1] + 1, [a[0] + 3]]))
    assert "main_kernel_2(" in module.source(target)


@gpu_devices.both
def test_a_continue_of_a_loop_over_threads_skips_its_iteration_alone(target: str) -> None:
    @T.prim_func
    def before(
        F: T.Buffer((4, 64), "int32"),
        A: T.Buffer((4, 64), "int32"),
        B: T.Buffer((4, 64), "int32"),
        C: T.Buffer((4, 64), "int32"),
    ) -> None:
        for k in range(4):
            for i in range(64):
                if F[k, i] == 1:
                    continue
                with T.block("B"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    B[vk, vi] = A[vk, vi] * 2
            for i in range(64):
                with T.block("C"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    C[vk, vi] = A[vk, vi] + 1

    sch = tir.Schedule(before)
    sch.bind(sch.get_loops("B")[1], "threadIdx.x")
    sch.bind(sch.get_loops("C")[1], "threadIdx.x")
    f, a = RNG.integers(0, 3, (2, 4, 64)).astype("int32")
    b, c = np.zeros((2, 4, 64), "int32")
    run(sch, target, f, a, b, c)
    np.testing.assert_array_equal(b, np.where(f == 1, 0, 2 * a))
    np.testing.assert_array_equal(c, a + 1)
