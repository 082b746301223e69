# SPDX-License-Identifier: Apache-2.0
"""Sums of products of four bytes: as a call, as a tensor intrinsic, and by rule."""

from __future__ import annotations

from typing import Any

import gpu_devices
import numpy as np
import pytest
from gpu_programs import RNG, run, script
from test_gpu_tensor_core_rule import arguments, product

import loopsmith as ls
from loopsmith import te, tir

LETTERS = {"s8": "int8", "u8": "uint8", "s32": "int32", "u32": "uint32"}
KINDS = ["s8s8s32", "u8u8s32", "s8u8s32", "u8s8s32", "u8u8u32"]


def types_of(kind: str) -> tuple[str, str, str]:
    return LETTERS[kind[:2]], LETTERS[kind[2:4]], LETTERS[kind[4:]]


def bytes_of(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    limits = np.iinfo(dtype)
    drawn = RNG.integers(limits.min, limits.max + 1, shape)
    drawn.flat[:2] = limits.min, limits.max
    return drawn.astype(dtype)


def called(kind: str, lanes: int = 4) -> ls.PrimFunc:
    """Return a function that adds products of 8 groups of four bytes to what is there."""
    a, b, c = types_of(kind)
    return ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer((32,), "{a}"), B: T.Buffer((32,), "{b}"), C: T.Buffer((8,), "{c}")):
    for x in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            C[i] = T.dp4a("{c}", A.vload([i * 4], "{a}x{lanes}"), B.vload([i * 4], "{b}x{lanes}"),
                          C[i])
""")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["interp", "llvm", "c", "opencl", "cuda", "cuda -arch=sm_60"])
def test_a_call_means_the_same_everywhere(target: str, kind: str) -> None:
    left, right, sum_ = types_of(kind)
    a, b = bytes_of(left, (32,)), bytes_of(right, (32,))
    c = np.arange(8, dtype=sum_)
    expected = c + (a.astype(sum_) * b.astype(sum_)).reshape(8, 4).sum(axis=1, dtype=sum_)
    func = called(kind)
    if target == "interp":
        ls.interp.run(func, a, b, c)
    else:
        if target in ("llvm", "c"):
            text = func.script().replace('T.thread_binding(1, thread="blockIdx.x")', "range(1)")
            func = ls.from_source(
                text.replace('T.thread_binding(8, thread="threadIdx.x")', "range(8)")
            )
        else:
            gpu_devices.require(target)
        module = ls.build(func, target=target)
        module(a, b, c)
        if target.startswith("cuda"):
            signs = f"{kind[0]}8_{kind[2]}8"
            assert (f"ls_dp4a_{signs}(" in module.source("cuda")) == (target == "cuda")
    np.testing.assert_array_equal(c, expected)


def test_a_call_of_anything_else_is_refused() -> None:
    func = called("s8s8s32", lanes=2)
    with pytest.raises(ls.LowerError, match="target cuda has no code for dp4a") as caught:
        ls.build(func, target="cuda")
    assert caught.value.hint.startswith("multiply vectors int8x4 or uint8x4, or numbers of 32")
    arrays = [np.zeros(32, "int8"), np.zeros(32, "int8"), np.zeros(8, "int32")]
    with pytest.raises(ls.InterpError, match="a call of dp4a of anything but four bytes each"):
        ls.interp.run(func, *arrays)


def by_words(scope: str, kind: str = "s8s8s32") -> tir.Schedule:
    """Return A @ B.T by threads, each of which multiplies four bytes at once."""
    a, b, c = types_of(kind)
    sch = script(f"""
@T.prim_func
def main(A: T.Buffer((16, 64), "{a}"), B: T.Buffer((16, 64), "{b}"),
         C: T.Buffer((16, 16), "{c}")):
    for i, j, k in T.grid(16, 16, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{c}")
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{c}") * T.cast(B[vj, vk], "{c}")
""")
    i, j, k = sch.get_loops("C")
    _, word = sch.split(k, [None, 4])
    sch.bind(sch.add_unit_loop(i), "blockIdx.x")
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    result = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(result, j, preserve_unit_loops=True)
    if scope != "global":
        for operand in (0, 1):
            copy = sch.cache_read("C", operand, scope)
            sch.compute_at(copy, sch.get_loops("C")[0])
            fused = sch.fuse(*sch.get_loops(copy)[1:])
            y, x, _ = sch.split(fused, [16, 16, None])
            sch.bind(y, "threadIdx.y")
            sch.bind(x, "threadIdx.x")
    sch.decompose_reduction("C", sch.get_loops("C")[3])
    suffix = {"shared": "", "shared.dyn": "_shared_dyn", "global": "_global"}[scope]
    sch.tensorize(word, f"dp4a_{kind}{suffix}")
    return sch


@gpu_devices.both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scope", ["shared", "shared.dyn", "global"])
def test_the_intrinsics_multiply_words(target: str, kind: str, scope: str) -> None:
    sch = by_words(scope, kind)
    left, right, sum_ = types_of(kind)
    a, b, c = bytes_of(left, (16, 64)), bytes_of(right, (16, 64)), np.zeros((16, 16), sum_)
    source = run(sch, target, a, b, c).source(target)
    expected = a.astype(sum_) @ b.astype(sum_).T
    np.testing.assert_array_equal(c, expected)
    assert ("ls_dp4a_" in source) == (target == "cuda")
    assert target != "cuda" or "*(int*)v" in source
    for func in (sch.func, ls.lower(sch, target=target)):
        by_interpreter = np.zeros_like(c)
        ls.interp.run(func, a, b, by_interpreter)
        np.testing.assert_array_equal(by_interpreter, expected)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("sizes", [(64, 32, 160), (17, 40, 33), (5, 9, 2)])
def test_products_without_tensor_cores_multiply_words(
    sizes: tuple[int, int, int], left: bool, right: bool
) -> None:
    gpu_devices.require("cuda")
    func = te.create_prim_func(
        tensors := product(*sizes, dtype="int8", sum_="int32", left=left, right=right)
    )
    module = ls.build(func, target="cuda -arch=sm_75")
    arrays = arguments(tensors)
    expected = [array.copy() for array in arrays]
    ls.interp.run(func, *expected)
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1], expected[-1])
    assert "ls_dp4a_s8_s8(" in module.source("cuda")
    for target in ("cuda -arch=sm_60", "opencl"):
        assert "dp4a" not in ls.build(func, target=target).source(target.split()[0])


def test_sizes_may_be_known_by_the_call_alone() -> None:
    gpu_devices.require("cuda")
    sizes: list[Any] = [te.size_var(name) for name in "nmk"]
    tensors = product(*sizes, dtype="uint8", sum_="int32")
    func = te.create_prim_func(tensors)
    module = ls.build(func, target="cuda -arch=sm_75")
    assert "ls_dp4a_u8_u8(" in module.source("cuda")
    for n, m, k in ((1, 1, 1), (70, 33, 50)):
        given = {"n": n, "m": m, "k": k}
        arrays = [np.abs(x).astype(x.dtype) for x in arguments(tensors, given)]
        expected = [array.copy() for array in arrays]
        ls.interp.run(func, *expected)
        module(*arrays)
        np.testing.assert_array_equal(arrays[-1], expected[-1])
