# SPDX-License-Identifier: Apache-2.0
"""Functions of scripts whose arguments overlap."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def recurrence(A: T.Buffer((63,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(63):
        B[i + 1] = A[i] * T.float32(0.5) + T.float32(1)


@T.prim_func
def table(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[m - 1 - vj, n - 1 - vi] + T.float32(1)


@T.prim_func
def strided(a: T.handle, b: T.handle):
    n = T.int32()
    s = T.int32()
    A = T.match_buffer(a, (n,), "float32", strides=(s,))
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[n - 1 - vi] + T.float32(1)


@T.prim_func
def bits(A: T.Buffer((20,), "int4"), B: T.Buffer((20,), "int4")):
    for i in range(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[vi] = A[19 - vi] + T.Cast("int4", 1)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_function_of_a_script_takes_arguments_that_overlap(target: str):
    memory = np.arange(64, dtype=np.float32)
    expected = memory.copy()
    for i in range(63):
        expected[i + 1] = expected[i] * np.float32(0.5) + np.float32(1)
    ls.build(recurrence, target)(memory[:63], memory)
    np.testing.assert_array_equal(memory, expected)

    memory = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    expected = memory.copy()
    for i in range(64):
        for j in range(64):
            expected[i, j] = expected[63 - j, 63 - i] + 1
    both, apart = ls.build(table, target), np.zeros_like(memory)
    both(memory, memory)
    np.testing.assert_array_equal(memory, expected)
    both(memory, apart)
    np.testing.assert_array_equal(apart, memory[::-1, ::-1].T + 1)


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
@pytest.mark.parametrize("start", [0, 30, 60, 90])
def test_overlaps_of_strided_arguments_are_seen(target: str, step: int, start: int):
    memory = np.arange(200, dtype=np.float32)
    first = 90 if step < 0 else 0
    given, made = memory[first::step][:30], memory[start : start + 30]
    expected = memory.copy()
    source, result = expected[first::step][:30], expected[start : start + 30]
    for i in range(30):
        result[i] = source[29 - i] + 1
    ls.build(strided, target)(given, made)
    np.testing.assert_array_equal(memory, expected)


def test_packed_types_are_told_apart():
    x, y = ls.zeros((20,), "int4"), ls.zeros((20,), "int4")
    ls.build(bits)(x, y)


def test_what_a_schedule_rests_on_is_asked_of_the_arguments():
    sch = tir.Schedule(recurrence)
    sch.vectorize(sch.get_loop("i"))
    memory = np.arange(64, dtype=np.float32)
    for program in (sch, sch.func, sch.mod):
        with pytest.raises(ls.CallError) as error:
            ls.build(program)(memory[:63], memory)
        assert "B is written and overlaps A in memory" in str(error.value)
    looked_up = tir.Schedule(recurrence)
    looked_up.get_loop("i")
    ls.build(looked_up)(memory[:63], memory)
    memory = np.arange(64, dtype=np.float32)
    apart = np.zeros(64, np.float32)
    ls.build(sch)(memory[:63], apart)
    np.testing.assert_array_equal(apart[1:], memory[:63] * 0.5 + 1)


def test_a_promise_that_arguments_are_apart_is_kept():
    @T.prim_func
    def promised(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)

    built = ls.build(promised)
    assert "reinterpret" not in built.source("tir")
    memory = np.arange(8, dtype=np.float32)
    with pytest.raises(ls.CallError, match="overlaps"):
        built(memory, memory)


def test_code_is_told_that_arguments_overlap_no_memory_of_the_function():
    @T.prim_func
    def columns(A: T.Buffer((64, 8192), "float32"), B: T.Buffer((8192,), "float32")):
        sums = T.alloc_buffer((8192,), "float32")
        for j in range(8192):
            sums[j] = T.float32(0)
        for i, j in T.grid(64, 8192):
            sums[j] = sums[j] + A[i, j]
        for j in range(8192):
            B[j] = sums[j]

    built = ls.build(columns, default_schedule=False)
    accesses = [
        line
        for line in built.source("llvm").splitlines()
        if ("load " in line or "store " in line) and "float" in line
    ]
    assert accesses
    assert all("!alias.scope" in line and "!noalias" in line for line in accesses), accesses
