# SPDX-License-Identifier: Apache-2.0
"""Programs that count lanes by T.vscale(): vectors get their length when they are lowered."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def plus_one(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range((n + T.vscale() * 4 - 1) // (T.vscale() * 4)):
        for j in T.vectorized(T.vscale() * 4):
            if i * (T.vscale() * 4) + j < n:
                B[i * (T.vscale() * 4) + j] = A[i * (T.vscale() * 4) + j] + T.float32(1)


@T.prim_func
def wide(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int64")):
    for i in range(64 // (T.vscale() * 4)):
        here = A[T.Ramp(i * (T.vscale() * 4), 1, T.vscale() * 4)]
        twice = here + here * T.Broadcast(T.float32(2), T.vscale() * 4)
        B[T.Ramp(i * (T.vscale() * 4), 1, T.vscale() * 4)] = T.Cast("int64xvscalex4", twice)


@pytest.mark.parametrize("target", ["llvm -mcpu=native", "llvm", "c"])
def test_vectors_have_the_length_that_the_target_has(target: str):
    a = np.arange(64, dtype="float32")
    f = ls.build(ls.tir.Schedule(plus_one), target=target)
    for count in (1, 17, 64):
        b = np.zeros(count, "float32")
        f(a[:count].copy(), b)
        np.testing.assert_array_equal(b, a[:count] + 1)
    c = np.zeros(64, "int64")
    ls.build(ls.tir.Schedule(wide), target=target)(a, c)
    np.testing.assert_array_equal(c, a * 3)


def test_the_interpreter_takes_a_number_of_its_own():
    a = np.arange(17, dtype="float32")
    b = np.zeros_like(a)
    ls.interp.run(plus_one, a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_lowering_fills_a_register():
    text = ls.lower(wide, target="llvm -mcpu=x86-64-v3").script()
    assert "vscale" not in text
    assert "for i in range(8):" in text  # Of 8 lanes: 256 bits.
    assert "twice: T.float32x8 = here + here * T.Broadcast(T.float32(2), 8)" in text


def test_results_may_depend_on_the_machine_in_the_open():
    @T.prim_func
    def number(B: T.Buffer((1,), "int32")):
        B[0] = T.vscale()

    b = np.zeros(1, "int32")
    ls.interp.run(number, b)
    assert b[0] == 2
    ls.build(number, target="llvm -mcpu=x86-64-v3")(b)
    assert b[0] == 2  # 256 bits.
