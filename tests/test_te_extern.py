# SPDX-License-Identifier: Apache-2.0
"""Tensors that statements and functions make: `te.extern` and `te.extern_primfunc`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T  # noqa: N812


def refusal(kind: type[Exception], action: Callable[[], Any]) -> ls.UserError:
    with pytest.raises(kind) as error:
        action()
    assert isinstance(error.value, ls.UserError)
    return error.value


def test_an_extern_may_have_memory_of_its_own() -> None:
    a = te.placeholder((8,), name="A")

    def kept(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        i, j = te.var("i"), te.var("j")
        own = tir.decl_buffer((8,), "float32", "own")
        fill = tir.For(i, 0, 8, body=tir.BufferStore(own, ins[0][i] * 2.0, [i]))
        read = tir.For(j, 0, 8, body=tir.BufferStore(outs[0], own[7 - j], [j]))
        return tir.Allocate(own.data, "float32", [8], True, body=tir.SeqStmt([fill, read]))

    b = te.extern((8,), [a], kept, name="B")
    assert "own = T.decl_buffer((8,))" in str(te.create_prim_func([a, b]))
    given = np.arange(8, dtype="float32")
    for result in (ls.build([a, b])(given), ls.build(te.create_schedule(b.op), [a, b])(given)):
        np.testing.assert_array_equal(result, 2 * given[::-1])


def test_an_extern_is_a_statement_over_buffers() -> None:
    a = te.placeholder((8,), name="A")

    def copy(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        i = te.var("i")
        body = tir.BufferStore(outs[0], ins[0][i], [i])
        return tir.For(loop_var=i, min=0, extent=8, body=body)

    b = te.extern((8,), [a], copy, name="B")
    assert b.dtype == "float32"
    assert "B[i] = A[i]" in str(te.create_prim_func([a, b]))
    two = te.extern([(8,), (8,)], [a], copy, name="B", dtype=["float32", "int8"])
    assert [t.dtype for t in two] == ["float32", "int8"]
    error = refusal(ValueError, lambda: te.extern((8,), [], copy, name="B"))
    assert error.problem == "extern B: the type of its outputs cannot be inferred from its inputs"
    error = refusal(TypeError, lambda: te.extern((8,), [a], lambda i, o: 3, name="B"))
    assert error.problem == "extern B: the function gives no statement"


def test_the_shape_and_type_of_an_extern_may_be_those_of_its_buffer() -> None:
    a = te.placeholder((8,), name="A")
    buffer = tir.decl_buffer((4,), "int8", name="B")

    def fill(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        i = te.var("i")
        body = tir.BufferStore(outs[0], ins[0][i].astype("int8"), [i])
        return tir.For(loop_var=i, min=0, extent=4, body=body)

    b = te.extern(None, [a], fill, out_buffers=buffer)
    assert (b.shape, b.dtype) == ([4], "int8")
    x = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(ls.build([a, b])(x), np.arange(4))


@T.prim_func
def sums_and_copy(
    X: T.Buffer((8, 4), "float32"), S: T.Buffer((8,), "float32"), Y: T.Buffer((8, 4), "float32")
):
    twice = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        with T.block("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            twice[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("sums"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + twice[vi, vj]
    for i, j in T.grid(8, 4):
        Y[i, j] = X[i, j]


@T.prim_func
def increment(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i] + T.float32(1)


@T.prim_func
def accumulate(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = T.float32(0)
    for i, k in T.grid(8, 3):
        Y[i] = Y[i] + X[i] * T.cast(k, "float32")


def test_a_function_over_buffers_becomes_an_operation() -> None:
    a = te.placeholder((8,), name="A")
    once = te.extern_primfunc([a], increment, name="once")
    again = te.extern_primfunc([once], increment, name="again")
    total = te.extern_primfunc([again], accumulate, name="total")
    c = te.compute((8,), lambda i: total[i] + once[i], name="C")
    x, out = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    func = te.create_prim_func([a, c])
    assert ls.structural_equal(ls.from_source(func.script()), func)
    ls.build(func)(x, out)
    np.testing.assert_array_equal(out, (x + 2) * 3 + x + 1)


def test_what_a_function_writes_are_the_outputs() -> None:
    a = te.placeholder((8, 4), name="A")
    sums, copy = te.extern_primfunc([a], sums_and_copy, name="f")
    c = te.compute((8, 4), lambda i, j: sums[i] + copy[i, j], name="C")
    x, out = np.arange(32, dtype="float32").reshape(8, 4), np.zeros((8, 4), "float32")
    ls.build([a, c])(x, out)
    np.testing.assert_array_equal(out, x + 2 * x.sum(1, keepdims=True))
    error = refusal(ls.UserError, lambda: te.extern_primfunc([], increment, name="f"))
    assert error.problem == "extern_primfunc f: 0 tensors for 1 inputs"
    error = refusal(TypeError, lambda: te.extern_primfunc([a], increment, name="f"))
    assert error.problem == "extern f: buffer X does not fit input A"

    def parsed(parameters: str, body: str) -> tir.PrimFunc:
        return ls.from_source(f"@T.prim_func\ndef f({parameters}):\n    {body}\n")

    x = 'X: T.Buffer((8,), "float32")'
    error = refusal(
        TypeError, lambda: te.extern_primfunc([], parsed(x + ", n: T.int32", "X[n] = X[0]"))
    )
    assert error.problem == "extern_primfunc extern: parameter n is a scalar"
    error = refusal(ls.UserError, lambda: te.extern_primfunc([], parsed(x, "T.evaluate(0)")))
    assert error.problem == ("extern_primfunc extern: it neither loads from X nor stores into it")
    error = refusal(ls.UserError, lambda: te.extern_primfunc([], parsed(x, "T.evaluate(X[0])")))
    assert error.problem == ("extern_primfunc extern: the function writes none of its parameters")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_function_takes_the_sizes_of_its_inputs(dtype: str) -> None:
    @T.prim_func
    def transpose(a: T.handle, b: T.handle):
        n, m = T.int32(), T.int32()
        X = T.match_buffer(a, (n, m), "float32")
        Y = T.match_buffer(b, (m, n), "float32")
        for i, j in T.grid(n, m):
            Y[j, i] = X[i, j]

    n = te.size_var("n", dtype)
    a = te.placeholder((n, 4), name="A")
    more = te.compute((n, 4), lambda i, j: a[i, j] + 1, name="more")
    turned = te.extern_primfunc([more], transpose, name="turned")
    assert turned.shape[0].value == 4
    back = te.extern_primfunc([turned], transpose, name="back")
    b = te.compute((n, 4), lambda i, j: back[i, j] * 2 + turned[j, i], name="B")
    func = te.create_prim_func([a, b])
    assert ls.structural_equal(ls.from_source(func.script()), func)
    x, out = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    ls.build(func)(x, out)
    np.testing.assert_array_equal(out, (x + 1) * 3)


def test_an_extern_runs_among_computes() -> None:
    a = te.placeholder((8,), name="A")

    def reverse(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        i = te.var("i")
        body = tir.BufferStore(outs[0], ins[0][7 - i], [i])
        return tir.For(loop_var=i, min=0, extent=8, body=body)

    b = te.extern((8,), [a], reverse, name="B")
    c = te.compute((8,), lambda i: b[i] * 2, name="C")
    x, out = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    ls.build([a, c])(x, out)
    np.testing.assert_array_equal(out, x[::-1] * 2)


@T.prim_func
def doubled_rows(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")) -> None:
    C = T.alloc_buffer((16,))
    for i in range(16):
        for j in range(16):
            C[j] = A[i, j] * 2.0
        for k in range(16):
            B[i, k] = C[k] + 1.0


def row_schedule() -> tuple[Any, Any, Any, Any]:
    a = te.placeholder((16, 16), name="A")
    b = te.extern_primfunc([a], doubled_rows, name="B")
    c = te.compute((16, 16), lambda i, j: b[i, j] * 3, name="C")
    return te.create_schedule(c.op), a, b, c


def lowered_and_run(s: Any, a: Any, c: Any) -> str:
    x, out = np.random.rand(16, 16).astype("float32"), np.zeros((16, 16), "float32")
    ls.build(s, [a, c])(x, out)
    np.testing.assert_allclose(out, (x * 2 + 1) * 3, rtol=1e-6)
    return ls.lower(s, [a, c], simple_mode=True).script()


def test_the_loops_of_a_statement_are_axes() -> None:
    s, a, b, c = row_schedule()
    assert [axis.var.name for axis in b.axis] == ["i", "j", "k"]
    i, _, k = b.op.axis
    _, inner = s[b].split(k, 4)
    s[b].vectorize(inner)
    s[b].parallel(i)
    text = lowered_and_run(s, a, c)
    assert "for i in T.parallel(16)" in text and "for k_outer in range(4)" in text
    s, a, b, c = row_schedule()
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].unroll(s[b].split(b.axis[1], nparts=2)[1])
    text = lowered_and_run(s, a, c)
    assert "B = T.decl_buffer((256,))" in text
    again = te.Schedule.from_json(s.as_json())
    args = [stage.op.output(0) for stage in again.stages if stage.op.name in ("A", "C")]
    assert ls.lower(again, args, simple_mode=True).script() == text


def test_steps_on_loops_of_a_statement_keep_its_results() -> None:
    s, a, b, c = row_schedule()
    s[b].bind(b.axis[0], te.thread_axis("blockIdx.x"))
    error = refusal(ls.ScheduleError, lambda: s.to_tir([a, c]))
    assert "bind: results would change: iterations of loop i depend on each other" in str(error)
    s, a, b, c = row_schedule()
    s[b].fuse(b.axis[1], b.axis[2])
    error = refusal(ls.ScheduleError, lambda: s.to_tir([a, c]))
    assert "fuse: outer loop j is not the parent of the inner loop k" in str(error)


def test_no_other_stage_is_computed_in_a_statement() -> None:
    @T.prim_func
    def scaled(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")) -> None:
        for i in range(32):
            B[i] = A[i] * 2.0

    x = te.placeholder((32,), name="X")
    a = te.compute((32,), lambda i: x[i] + 1.0, name="A")
    b = te.extern_primfunc([a], scaled, name="B")
    s = te.create_schedule(b.op)
    s[a].compute_at(s[b], b.op.axis[0])
    error = refusal(ls.ScheduleError, lambda: s.to_tir([x, b]))
    assert "loop i of stage B is part of its statement, in which stage A cannot" in str(error)
    assert "write what it computes into the statement" in str(error)


def test_threads_of_a_statement_are_no_axes_to_split() -> None:
    @T.prim_func
    def scaled(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")) -> None:
        for i in T.thread_binding(32, thread="threadIdx.x"):
            B[i] = A[i] * 2.0

    a = te.placeholder((32,), name="A")
    b = te.extern_primfunc([a], scaled, name="B")
    s = te.create_schedule(b.op)
    error = refusal(ls.ScheduleError, lambda: s[b].split(b.axis[0], 4))
    assert "split: axis i of stage B is a thread axis" in str(error)
