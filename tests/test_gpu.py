# SPDX-License-Identifier: Apache-2.0
"""Kernels on devices: what they compute, and what is refused before a device is asked."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu_devices
import numpy as np
import pytest
import test_gpu_schedules as schedules

import loopsmith as ls
from loopsmith import te, tir

RNG = np.random.default_rng(7)


def run(sch: tir.Schedule, target: str, *arrays: Any) -> ls.Module:
    """Build, call, and compare the lowered program with the scheduled one on the interpreter."""
    gpu_devices.require(target)
    module = ls.build(sch, target=target)
    module(*arrays)
    return module


def scheduled_by(monkeypatch: pytest.MonkeyPatch, function: Any, *args: Any) -> tir.Schedule:
    """Return the schedule that a test of test_gpu_schedules.py ends with."""
    caught: list[tir.Schedule] = []
    monkeypatch.setattr(schedules, "finished", caught.append)
    function(*args)
    return caught[0]


def script(text: str) -> tir.Schedule:
    return tir.Schedule(ls.from_source(text))


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
def test_a_matrix_times_a_vector_by_rfactor(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sch = scheduled_by(monkeypatch, schedules.test_rows_that_threads_add_up_each_a_part)
    a, b = RNG.random((64, 256), "float32"), RNG.random(256, "float32")
    c = np.zeros(64, "float32")
    run(sch, target, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


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


ROWS = """
@T.prim_func
def main(A: T.Buffer((30, 200), "DTYPE"), C: T.Buffer((30,), "DTYPE")):
    for i, k in T.grid(30, 200):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.cast(0, "DTYPE")
            C[vi] = C[vi] + A[vi, vk]
"""


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
def test_arrays_live_on_the_device(target: str) -> None:
    gpu_devices.require(target)
    sch = script(ROWS.replace("DTYPE", "float32"))
    i, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    module = ls.build(sch, target=target)
    device = ls.device(target, 0)
    assert device.exists and device.name and device.max_threads_per_block >= 64
    host = RNG.random((30, 200), "float32")
    a, c = ls.array(host, device=device), ls.empty(30, "float32", device=f"{target}:0")
    assert a.device == c.device == f"{target}:0"
    module(a, c)
    np.testing.assert_allclose(c.numpy(), host.sum(1), rtol=1e-5)
    np.testing.assert_array_equal(a.to(None).numpy(), host)
    device.sync()
    assert module.time(a, c).min > 0
    with pytest.raises(ls.CallError, match=r"C\.shape\[0\] is 31, not 30"):
        module(a, ls.empty(31, device=device))


COMPILED = """
import sys
sys.path.insert(0, {tests!r})
import loopsmith as ls
from test_gpu import bound_matmul
from test_gpu_schedules import SOFTMAX
for arch in ("sm_80", "sm_90", "sm_120"):
    module = ls.build(bound_matmul(), target="cuda -arch=" + arch)
    ptx = module.source("ptx")
    assert ".target " + arch in ptx, ptx
    assert ".entry main_kernel(" in ptx
    assert ".maxntid 64" in ptx
try:
    ls.build(bound_matmul(), target="cuda -arch=sm_10").source("ptx")
except ls.CallError as error:
    assert error.code == "driver_compiles_kernel", error
    assert "NVRTC does not compile the kernels for sm_10" in str(error)
else:
    raise AssertionError("sm_10 is taken")
"""


def test_the_compiler_of_cuda_takes_the_source() -> None:
    if importlib.util.find_spec("nvidia") is None:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc")
    hidden = ("LOOPSMITH_NVRTC", "LOOPSMITH_CUDA")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    source = COMPILED.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env=variables
    )
    assert done.returncode == 0, done.stderr


def test_a_compiler_that_is_not_there_is_named() -> None:
    source = "import loopsmith as ls, test_gpu\n"
    source += "ls.build(test_gpu.bound_matmul(), target='cuda').source('ptx')"
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "LOOPSMITH_NVRTC": "/nowhere/libnvrtc.so"},
    )
    there_is_one = done.returncode == 0
    assert there_is_one or "NVRTC, the compiler of CUDA cannot be opened:" in done.stderr
    if not there_is_one:
        assert "pip install nvidia-cuda-nvrtc" in done.stderr


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


RULES: dict[str, tuple[Any, int]] = {
    "matmul": (lambda: matmul(50, 70, 33), 1),
    "matmul of any size": (lambda: matmul(te.size_var("n"), te.size_var("m"), te.size_var("k")), 1),
    "rows": (lambda: ls.from_source(ROWS.replace("DTYPE", "float32")), 1),
    "softmax": (lambda: ls.from_source(schedules.SOFTMAX), 4),
}


def matmul(n: Any, m: Any, k: Any) -> tir.PrimFunc:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


@gpu_devices.both
@pytest.mark.parametrize("name", list(RULES))
def test_what_nobody_scheduled_is_bound_by_rule(target: str, name: str) -> None:
    make, kernels = RULES[name]
    gpu_devices.require(target)
    module = ls.build(make(), target=target)
    assert len(re.findall(r"__(kernel|global__) void", module.source(target))) == kernels
    if name.startswith("matmul"):
        a, b = RNG.random((50, 33), "float32"), RNG.random((33, 70), "float32")
        c = np.zeros((50, 70), "float32")
        module(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    elif name == "rows":
        a, c = RNG.random((30, 200), "float32"), np.zeros(30, "float32")
        module(a, c)
        np.testing.assert_allclose(c, a.sum(1), rtol=1e-5)
    else:
        a, c = RNG.random((32, 64), "float32"), np.zeros((32, 64), "float32")
        module(a, c)
        e = np.exp(a - a.max(1, keepdims=True))
        np.testing.assert_allclose(c, e / e.sum(1, keepdims=True), rtol=1e-5)


@gpu_devices.both
def test_what_has_to_go_in_order_does(target: str) -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((40,), "int32"), S: T.Buffer((40,), "int32")):
    for t in range(40):
        with T.block("S"):
            vt = T.axis.opaque(40, t)
            S[vt] = A[vt] + T.if_then_else(vt > 0, S[vt - 1], 0)
""")
    gpu_devices.require(target)
    a, s = RNG.integers(-9, 9, 40).astype("int32"), np.zeros(40, "int32")
    ls.build(func, target=target)(a, s)
    np.testing.assert_array_equal(s, a.cumsum())


# What is refused.


def bound_matmul(
    *, tile: int = 8, threads: tuple[str, str] = ("threadIdx.y", "threadIdx.x")
) -> Any:
    sch = script(schedules.MATMUL)
    i, j, _ = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, tile])
    j0, j1 = sch.split(j, [None, tile])
    sch.reorder(i0, j0, i1, j1)
    for loop, axis in zip((i0, j0, i1, j1), ("blockIdx.y", "blockIdx.x", *threads)):
        sch.bind(loop, axis)
    return sch


def refused(program: Any, target: str) -> ls.LowerError:
    with pytest.raises(ls.LowerError) as caught:
        ls.build(program, target=target)
    return caught.value


def test_too_many_threads_are_refused() -> None:
    error = refused(bound_matmul(tile=64), "cuda")
    assert error.code == "threads_fit_block"
    assert "a block has 4096 threads, target cuda runs 1024 at most" in str(error)
    assert "split the loops over threads" in str(error)
    assert "runs 32 at most" in str(refused(bound_matmul(), "opencl -max_threads_per_block=32"))


def test_too_much_shared_memory_is_refused() -> None:
    sch = bound_matmul()
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, sch.get_loops("C")[1])
    error = refused(sch, "cuda -max_shared_memory_per_block=1024")
    assert error.code == "shared_memory_fits_block"
    assert "share 2048 bytes, 2048 of them for A_shared" in str(error)


def test_a_grid_beyond_the_limits_is_refused() -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((70000,), "float32")):
    for i in range(70000):
        with T.block("A"):
            vi = T.axis.spatial(70000, i)
            A[vi] = T.float32(1)
""")
    sch.bind(sch.get_loops("A")[0], "blockIdx.y")
    error = refused(sch, "cuda")
    assert error.code == "launch_axis_fits_device"
    assert "loop i over blockIdx.y has 70000 iterations, target cuda has at most 65535" in str(
        error
    )


def test_a_grid_that_is_too_large_at_run_time_is_refused() -> None:
    gpu_devices.require("cuda")
    n = te.size_var("n")
    x = te.placeholder((n,), "int8", name="X")
    sch = tir.Schedule(te.create_prim_func([x, te.compute((n,), lambda i: x[i], name="Y")]))
    sch.bind(sch.get_loops("Y")[0], "blockIdx.y")
    module = ls.build(sch, target="cuda")
    with pytest.raises(ls.CallError) as caught:
        module(np.zeros(70000, "int8"), np.zeros(70000, "int8"))
    assert caught.value.code == "launch_fits_device"
    assert "kernel main_kernel is launched with grid (1, 70000, 1) of blocks (1, 1, 1)" in str(
        caught.value
    )


def test_two_extents_of_one_axis_inside_each_other_are_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for j in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                vj = T.axis.spatial(64, j)
                S[vj] = A[vj // 2]
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = S[vi]
""")
    error = refused(func, "opencl")
    assert error.code == "thread_extents_agree"
    assert "loop j over threadIdx.x has another extent than the loop over threadIdx.x" in str(error)


def test_a_nest_that_is_not_bound_is_refused() -> None:
    sch = bound_matmul()
    sch.cache_read("C", 0, "global")
    error = refused(sch, "opencl")
    assert error.code == "stores_are_in_kernels"
    assert "A_global is written outside of all loops that are bound to threads" in str(error)


def test_shared_memory_without_a_constant_size_is_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (8, n))
    B = T.match_buffer(b, (8, n))
    for i in T.thread_binding(8, thread="blockIdx.x"):
        S = T.decl_buffer((n,), scope="shared")
        for j in range(n):
            S[j] = A[i, j]
        for j in range(n):
            B[i, j] = S[n - 1 - j]
""")
    error = refused(func, "opencl")
    assert error.code == "shared_memory_is_constant"
    assert "S is memory that the threads of a block share" in str(error)


def test_barriers_in_a_loop_of_each_thread_are_refused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(i):
            S[i] = A[i]
            B[i] = S[31 - i]
""")
    error = refused(func, "opencl")
    assert error.code == "barrier_is_reached"
    assert "threads have to wait for each other in loop k" in str(error)


REFUSED = {
    "block_axis_is_around": (
        "a statement stands beside the loop over blockIdx.y",
        """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="blockIdx.y"):
            A[i, j] = T.float32(1)
        B[i] = T.float32(2)
""",
    ),
    "launch_extent_is_known_outside": (
        "loop j over threadIdx.x has an extent that depends on i, a variable of the kernel",
        """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(i + 1, thread="threadIdx.x"):
            A[i, j] = T.float32(1)
""",
    ),
    "loads_are_in_kernels": (
        "N is read outside of all loops that are bound to threads",
        """
@T.prim_func
def main(N: T.Buffer((1,), "int32"), A: T.Buffer((8,), "float32")):
    for t in range(N[0]):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = A[j] + T.float32(1)
""",
    ),
    "kernel_memory_is_known": (
        "p is a pointer that the host cannot pass to a kernel",
        """
@T.prim_func
def main(p: T.handle("float32")):
    A = T.decl_buffer((8,), data=p)
    for j in T.thread_binding(8, thread="threadIdx.x"):
        A[j] = T.float32(1)
""",
    ),
    "kernel_can_do_it": (
        "target opencl: elements of int4 cannot stand in a kernel (main_kernel)",
        """
@T.prim_func
def main(A: T.Buffer((8,), "int4")):
    for j in T.thread_binding(8, thread="threadIdx.x"):
        A[j] = T.int4(1)
""",
    ),
}


@pytest.mark.parametrize("code", list(REFUSED))
def test_what_no_kernel_can_do_is_refused(code: str) -> None:
    text, source = REFUSED[code]
    error = refused(ls.from_source(source).with_attr("tir.is_scheduled", 1), "opencl")
    assert error.code == code
    assert text in str(error)


def test_functions_that_call_each_other_are_refused() -> None:
    module = ls.from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = T.float32(1)
        Module.other(A)

    @T.prim_func
    def other(A: T.Buffer((8,), "float32")):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = A[j] + T.float32(1)
""")
    error = refused(module, "opencl")
    assert error.code == "functions_are_apart"
    assert "build: function other is called by another one, which target opencl has no code" in str(
        error
    )


def test_a_launch_that_the_driver_refuses_is_named() -> None:
    gpu_devices.require("cuda")
    module = ls.build(bound_matmul(tile=32), target="cuda")
    a, b, c = np.zeros((3, 64, 64), "float32")
    with pytest.raises(ls.CallError) as caught:
        module(a, b, c)
    assert caught.value.code == "kernel_is_launched"
    assert (
        "cuda: kernel main_kernel is not launched with grid (2, 2, 1) of blocks (32, 32, 1): too "
        "many resources" in str(caught.value)
    )


def test_kernels_are_shown_beside_the_lines_that_they_are_of() -> None:
    shown = ls.build(bound_matmul(), target="opencl").inspect()
    assert "__kernel void main_kernel(" in shown.opencl
    assert 'T.thread_binding(8, thread="threadIdx.y")' in shown.ir
    assert "__global__ void" in ls.build(bound_matmul(), target="cuda").inspect().cuda


def test_kernels_are_no_library(tmp_path: Path) -> None:
    module = ls.build(bound_matmul(), target="opencl")
    with pytest.raises(ls.UserError, match="a library of target opencl would need") as caught:
        module.export(str(tmp_path / "matmul.so"))
    assert caught.value.code == "library_has_no_kernels"


def test_memory_is_not_passed_to_functions_of_the_host() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        A[i] = T.float32(1)
    T.call_packed("sort", A)
""")
    error = refused(func, "opencl")
    assert error.code == "host_calls_take_numbers"
    assert "does not see that of the device" in str(error)


def test_a_device_that_is_not_there_is_named() -> None:
    gpu_devices.require("opencl")
    with pytest.raises(ls.CallError, match="opencl: there is no device 99"):
        ls.empty(3, device="opencl:99")
    with pytest.raises(ls.CallError, match="device: there is no kind 'metal'") as caught:
        ls.device("metal")
    assert caught.value.code == "device_kind_is_known"
    for mistake in ("opencl:x", 3):
        with pytest.raises(ls.TypeMismatch, match=r"array: the device is .*, no device") as wrong:
            ls.empty(3, device=mistake)  # type: ignore[arg-type]
        assert wrong.value.code == "device_is_known"
    with pytest.raises(ls.CallError, match="opencl: no memory of 35184372088832 bytes") as large:
        ls.empty(1 << 43, device="opencl")
    assert large.value.code == "device_has_memory"
    gaps = ls.from_dlpack(np.zeros((4, 4), "float32")[:, ::2])
    with pytest.raises(ls.CallError) as no_copy:
        gaps.to("opencl")
    assert no_copy.value.code == "array_is_compact"
    assert not ls.device("opencl", 99).exists


def test_kernels_are_exported_as_source(tmp_path: Path) -> None:
    module = ls.build(bound_matmul(), target="opencl")
    module.export(str(tmp_path / "matmul.cl"))
    text = (tmp_path / "matmul.cl").read_text()
    assert "__kernel void matmul_kernel(" in text
    with pytest.raises(ls.UserError, match=r"a \.cu file cannot be made from target opencl"):
        module.export(str(tmp_path / "matmul.cu"))
    ls.build(bound_matmul(), target="cuda").export(str(tmp_path / "matmul.cu"))
    assert "__launch_bounds__(64)" in (tmp_path / "matmul.cu").read_text()
