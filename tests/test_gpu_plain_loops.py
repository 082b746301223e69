# SPDX-License-Identifier: Apache-2.0
"""Loops without blocks on GPUs, by rule: loops that may run concurrently are bound."""

from __future__ import annotations

import random
from typing import Any

import gpu_devices
import ml_dtypes
import numpy as np
import pytest
from gpu_programs import RNG
from random_loops import SIZE, random_loops

import loopsmith as ls
from loopsmith import tir

STENCIL = """
@T.prim_func
def main(A: T.Buffer((40, 50), "float32"), B: T.Buffer((40, 50), "float32")):
    for t in range(3):
        for i in range(1, 39):
            for j in range(1, 49):
                B[i, j] = (A[i - 1, j] + A[i + 1, j]) * T.float32(0.5)
        for i in range(1, 39):
            for j in range(1, 49):
                A[i, j] = B[i, j - 1] + B[i, j + 1]
"""
PRODUCT = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 20), "float32")
    B = T.match_buffer(b, (20, 30), "float32")
    C = T.match_buffer(c, (n, 30), "float32")
    for i in range(n):
        for k in range(20):
            for j in range(30):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
SWEEP = """
@T.prim_func
def main(A: T.Buffer((20, 20), "float32")):
    for i in range(1, 20):
        for j in range(1, 20):
            A[i, j] = A[i - 1, j] * T.float32(0.5) + A[i, j - 1]
"""
COLUMN_RECURRENCE = """
@T.prim_func
def main(A: T.Buffer((20, 64), "float32")):
    for i in range(1, 20):
        for j in range(64):
            A[i, j] = A[i - 1, j] + A[i, j]
"""
TRIANGLE = """
@T.prim_func
def main(A: T.Buffer((40, 40), "int32"), B: T.Buffer((40,), "int32")):
    for i in range(40):
        for j in range(i):
            A[i, j] = i - j
        B[i] = i
"""
TOTAL = """
@T.prim_func
def main(A: T.Buffer((100,), "float32"), S: T.Buffer((1,), "float32")):
    S[0] = T.float32(0)
    for i in range(100):
        S[0] = S[0] + A[i]
"""


def func_of(text: str) -> tir.PrimFunc:
    return ls.from_source(text)


def check(text: str, target: str, *arrays: Any) -> str:
    """Run a program by rule, compare each element with the interpreter's, and give the source."""
    gpu_devices.require(target)
    func = func_of(text)
    expected = [array.copy() for array in arrays]
    ls.interp.run(func, *expected)
    module = ls.build(func, target=target)
    got = [array.copy() for array in arrays]
    module(*got)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    sch = ls.default_schedule(func, target=target)
    ls.interp.run(ls.lower(sch, target=target), *arrays)
    for one, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    ls.assert_structural_equal(again.mod, sch.mod)
    return module.source(target)


def drawn(*shape: int) -> np.ndarray:
    return RNG.integers(-8, 9, shape).astype("float32")


def kernels(source: str) -> int:
    return source.count("__global__ void") + source.count("__kernel void")


@gpu_devices.both
def test_nests_in_a_loop_over_time_are_launched_again_and_again(target: str) -> None:
    source = check(STENCIL, target, drawn(40, 50), drawn(40, 50))
    assert kernels(source) == 2
    sch = ls.default_schedule(func_of(STENCIL), target=target)
    assert "for t in range(3)" in sch.func.script()


@gpu_devices.both
def test_a_product_is_one_launch_whose_sums_keep_their_order(target: str) -> None:
    source = check(PRODUCT, target, drawn(7, 20), drawn(20, 30), drawn(7, 30))
    assert kernels(source) == 1
    text = ls.default_schedule(func_of(PRODUCT), target=target).func.script()
    assert text.index("threadIdx.x") < text.index("for k in")


@gpu_devices.both
def test_a_recurrence_along_rows_is_one_launch_over_columns(target: str) -> None:
    source = check(COLUMN_RECURRENCE, target, drawn(20, 64))
    assert kernels(source) == 1
    assert "get_group_id(0)" in source or "blockIdx.x" in source


@gpu_devices.both
def test_what_no_dependence_allows_is_run_by_one_thread(target: str) -> None:
    source = check(SWEEP, target, drawn(20, 20))
    assert kernels(source) == 1
    assert "blockIdx" not in source
    check(TOTAL, target, drawn(100), drawn(1))


@gpu_devices.both
def test_inner_loops_may_depend_on_outer_ones(target: str) -> None:
    check(TRIANGLE, target, np.ones((40, 40), "int32"), np.ones(40, "int32"))


@gpu_devices.both
@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
    + ["float16", "bfloat16", "float32", "float64"],
)
def test_the_host_reads_what_launches_depend_on(target: str, dtype: str) -> None:
    source = f"""
@T.prim_func
def main(N: T.Buffer((3,), "{dtype}"), A: T.Buffer((8,), "int32")):
    while A[7] < T.Cast("int32", N[2]):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            A[i] = A[i] + 2
    for t in range(T.Cast("int32", N[1]) + 3):
        if N[0] != N[1]:
            for i in T.thread_binding(8, thread="threadIdx.x"):
                A[i] = A[i] + 100
"""
    signed = dtype.startswith(("int", "float", "bfloat"))
    numbers = np.array([0, -1 if signed else 1, 5 if dtype != "bool" else 1])
    given = numbers.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    results = np.zeros(8, "int32")
    ls.build(func_of(source), target=target)(given, results)
    launches = 2 if signed else 4
    assert (results == (6 if dtype != "bool" else 2) + 100 * launches).all(), results


@gpu_devices.both
@pytest.mark.parametrize("loop", ["range(N[0])", 'T.thread_binding(N[0], thread="threadIdx.x")'])
def test_the_host_reads_how_many_threads_there_are(target: str, loop: str) -> None:
    source = f"""
@T.prim_func
def main(N: T.Buffer((1,), "int32"), B: T.Buffer((16,), "int32")):
    for i in {loop}:
        B[i] = B[i] * 3 + 1
"""
    for count in (0, 2, 16):
        numbers = np.arange(16, dtype="int32")
        ls.build(func_of(source), target=target)(np.full(1, count, "int32"), numbers)
        expected = np.arange(16)
        expected[:count] = expected[:count] * 3 + 1
        np.testing.assert_array_equal(numbers, expected)


@gpu_devices.both
def test_a_return_leaves_the_function_and_not_a_kernel(target: str) -> None:
    source = """
@T.prim_func
def main(N: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    with T.Assert(n > 0, "n is positive"):
        B[1] = n
    if N[0] > 2:
        B[0] = 77
        return
    for i in range(8):
        B[i] = 5
"""
    run = ls.build(func_of(source), target=target)
    for count, expected in ((1, [5] * 8), (3, [77, 4] + [0] * 6)):
        numbers = np.zeros(8, "int32")
        run(np.full(1, count, "int32"), numbers, 4)
        np.testing.assert_array_equal(numbers, expected)


@gpu_devices.both
def test_a_loop_of_unknown_length_without_kernels_is_run_by_one_thread(target: str) -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), N: T.Buffer((1,), "int32")):
    N[0] = 0
    while (1 << N[0]) < 40:
        N[0] = N[0] + 1
    for i in range(8):
        A[i] = N[0]
"""
    numbers, steps = np.zeros(8, "int32"), np.zeros(1, "int32")
    ls.build(func_of(source), target=target)(numbers, steps)
    assert steps[0] == 6 and (numbers == 6).all()


@gpu_devices.both
@pytest.mark.parametrize("kind", ["T.parallel", "T.vectorized", "T.unroll"])
def test_loops_of_any_kind_are_bound(target: str, kind: str) -> None:
    source = f"""
@T.prim_func
def main(A: T.Buffer((30, 64), "float32")):
    for i in T.parallel(30):
        A[i, 0] = T.float32(7)
        for j in {kind}(64):
            A[i, j] = A[i, j] * T.float32(2)
"""
    built = check(source, target, drawn(30, 64))
    assert "get_group_id(0)" in built or "blockIdx.x" in built


def test_loops_that_a_user_has_bound_stay_as_they_are() -> None:
    bound = STENCIL.replace(
        "for j in range(1, 49)", 'for j in T.thread_binding(1, 49, thread="threadIdx.x")'
    )
    func = func_of(bound)
    assert ls.default_schedule(func, target="cuda").func.script() == func.script()


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_random_loops_do_the_same_on_a_device(target: str) -> None:
    gpu_devices.require(target)
    cases: dict[int, tir.PrimFunc] = {}
    for seed in range(100):
        func = func_of(random_loops(random.Random(seed)))
        cases[seed] = func
    names = [tir.GlobalVar(f"f{seed}") for seed in cases]
    module = ls.build(tir.IRModule(names=names, functions=list(cases.values())), target=target)
    for seed, func in cases.items():
        expected = np.random.default_rng(seed).integers(0, 9, (2, SIZE), dtype="int32")
        got = expected.copy()
        ls.interp.run(func, *expected, 3)
        module[f"f{seed}"](*got, 3)
        np.testing.assert_array_equal(got, expected, f"seed {seed}")
