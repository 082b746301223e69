# SPDX-License-Identifier: Apache-2.0
"""Programs in which several buffers share memory, compiled and run."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def recurrence(A: T.Buffer((64,), "float32")):
    p = T.address_of(A[1])
    B = T.decl_buffer((63,), data=p)
    for i in range(63):
        B[i] = A[i] * T.float32(0.5) + T.float32(1)


@T.prim_func
def pointers_in_a_loop(A: T.Buffer((64,), "int32")):
    for i in range(62):
        p = T.address_of(A[i + 1])
        B = T.decl_buffer((1,), "int32", data=p, elem_offset=1)
        B[0] = B[0] + A[i] % 7 * i


@T.prim_func
def pointer_of_a_pointer(A: T.Buffer((64,), "float32")):
    p = T.address_of(A[1])
    B = T.decl_buffer((32,), data=p)
    q = T.address_of(B[1])
    D = T.decl_buffer((16,), data=q, elem_offset=2)
    for i in range(16):
        D[i] = A[i + 3] + D[15 - i] * T.float32(0.5)


@T.prim_func
def own_memory(A: T.Buffer((64,), "float32")):
    S = T.decl_buffer((65,), "float32")
    for i in range(65):
        S[i] = T.float32(i)
    p = T.address_of(S[1])
    B = T.decl_buffer((64,), data=p)
    for i in range(64):
        B[i] = B[i] + S[i]
    for i in range(64):
        A[i] = A[i] + S[i]


@pytest.mark.parametrize(
    "func", [recurrence, pointers_in_a_loop, pointer_of_a_pointer, own_memory], ids=lambda f: f.name
)
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_pointers_with_names_are_compiled(func: tir.PrimFunc, target: str):
    dtype = str(func.buffer_map[func.params[0]].dtype)
    given = np.arange(64).astype(dtype)
    expected = given.copy()
    ls.interp.run(func, expected)
    ls.build(func, target)(given)
    np.testing.assert_array_equal(given, expected)


@T.prim_func
def shifted(A: T.Buffer((64,), "float32")):
    B = T.decl_buffer((63,), data=A.data, elem_offset=1)
    for i in range(63):
        B[i] = A[i] * T.float32(0.5) + T.float32(1)


@T.prim_func
def one_element(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.decl_buffer((1,), data=A.data, elem_offset=3)
    for i, j in T.grid(8, 8):
        A[i, j] = C[i, j] + B[0]


@T.prim_func
def transposed(A: T.Buffer((8, 8), "float32")):
    B = T.decl_buffer((8, 8), data=A.data, strides=(1, 8))
    for i, j in T.grid(8, 8):
        A[i, j] = B[i, j] + T.float32(1)


@T.prim_func
def bits(A: T.Buffer((64,), "float32")):
    B = T.decl_buffer((64,), "int32", data=A.data)
    for i in range(63):
        B[i + 1] = T.Cast("int32", A[i])


def test_a_step_that_views_forbid_is_refused():
    def of(func, name="i"):
        sch = tir.Schedule(func)
        return sch, sch.get_loop(name)

    for func in (recurrence, shifted, bits, pointers_in_a_loop):
        for how in ("vectorize", "parallel"):
            sch, loop = of(func)
            with pytest.raises(ls.ScheduleError):
                getattr(sch, how)(loop)
        sch, loop = of(func)
        with pytest.raises(ls.ScheduleError):
            sch.bind(loop, "threadIdx.x")
    sch, loop = of(one_element)
    with pytest.raises(ls.ScheduleError):
        sch.vectorize(sch.fuse(loop, sch.get_loop("j")))
    sch, loop = of(transposed)
    with pytest.raises(ls.ScheduleError, match="views of the same memory"):
        sch.reorder(sch.get_loop("j"), loop)


def test_a_block_over_views_keeps_the_order_of_its_axes():
    @T.prim_func
    def turned(A: T.Buffer((8, 8), "float32")):
        B = T.decl_buffer((8, 8), data=A.data, strides=(1, 8))
        for i, j in T.grid(8, 8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = B[vi, vj] + T.float32(1)

    sch = tir.Schedule(turned)
    with pytest.raises(ls.ScheduleError):
        sch.transform_block_layout(sch.get_block("A"), lambda i, j: (j, i))
    assert sch.verify()


def test_iterations_that_conflict_in_a_view_are_refused():
    @T.prim_func
    def shared(A: T.Buffer((64,)), B: T.Buffer((64,))):
        S = T.decl_buffer((8,))
        V = T.decl_buffer((8,), data=S.data)
        for i in T.parallel(64):
            for j in range(8):
                V[j] = A[i] + j
            B[i] = S[0] * S[7]

    with pytest.raises(ls.LowerError, match="race on V: iteration i=0, j=0 writes V"):
        ls.build(shared)
