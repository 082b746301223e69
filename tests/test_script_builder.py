# SPDX-License-Identifier: Apache-2.0
"""Programs built by calls of the words of scripts, with frames as ``with`` scopes."""

from __future__ import annotations

import numpy as np
import pytest
from loopsmith.script.ir_builder import IRBuilder
from loopsmith.script.ir_builder import ir as I
from loopsmith.script.ir_builder import tir as T

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as S


def test_a_function_with_blocks() -> None:
    with IRBuilder() as ib:
        assert IRBuilder.current() is ib
        with T.prim_func():
            T.func_name("matmul")
            T.func_attr({"tir.noalias": True})
            A = T.arg("A", T.Buffer((8, 8), "float32"))
            b = T.arg("b", T.handle())
            B = T.match_buffer(b, (8, 8))
            C = T.arg("C", T.Buffer((8, 8), "float32"))
            with T.grid(8, 8, 8) as (i, j, k):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        T.buffer_store(C, T.float32(0), [vi, vj])
                    T.buffer_store(C, C[vi, vj] + A[vi, vk] * B[vk, vj], [vi, vj])
    func = ib.get()

    @S.prim_func
    def matmul(A: S.Buffer((8, 8), "float32"), b: S.handle, C: S.Buffer((8, 8), "float32")):
        S.func_attr({"tir.noalias": True})
        B = S.match_buffer(b, (8, 8))
        for i, j, k in S.grid(8, 8, 8):
            with S.block("C"):
                vi, vj, vk = S.axis.remap("SSR", [i, j, k])
                with S.init():
                    C[vi, vj] = S.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    ls.assert_structural_equal(func, matmul)
    assert func.name == "matmul"
    x = np.random.rand(8, 8).astype(np.float32)
    out = np.zeros((8, 8), np.float32)
    ls.build(func)(x, x, out)
    np.testing.assert_allclose(out, x @ x, rtol=1e-5)


def test_statements_that_last_to_the_end_of_their_scope() -> None:
    with IRBuilder() as ib:
        with T.prim_func():
            T.func_name("main")
            n = T.arg("n", T.int32())
            A = T.arg("A", T.Buffer((4,), "float32"))
            IRBuilder.name_many(["size", "result"], [n, A])
            with T.decl_buffer((4,), "float32") as S_:
                IRBuilder.name("scratch", S_)
                with T.LetStmt(n * 2) as twice:
                    IRBuilder.name("twice", twice)
                    with T.serial(0, 4, annotations={"key": 1}) as i:
                        T.buffer_store(S_, T.Cast("float32", twice + i), [i])
                with T.If(n > 3):
                    with T.Then():
                        T.buffer_store(A, S_[1], [0])
                    with T.Else():
                        T.buffer_store(A, S_[2], [0])
                with T.Assert(n >= 0, "n is negative"):
                    T.evaluate(0)
    text = ib.get().script()
    assert all(name in text for name in ("size", "result", "scratch", "twice"))
    assert 'T.serial(4, annotations={"key": 1})' in text
    for n_value, expected in ((5, 11), (1, 4)):
        out = np.zeros(4, np.float32)
        ls.interp.run(ib.get(), n_value, out)
        assert out[0] == expected


def test_a_block_alone_with_all_that_it_declares() -> None:
    with IRBuilder() as ib:
        A = T.Buffer((8, 8), "float32")
        B = T.Buffer((8, 8), "float32")
        with T.block("block"):
            vi = T.axis.spatial(8, 3)
            T.where(vi > 0)
            T.reads(A[vi, 0:8])
            T.writes([B[vi, 0]])
            T.block_attr({"key": "value"})
            scratch = T.alloc_buffer((8,), "float32")
            T.buffer_store(scratch, 1.0, [vi])
    realize = ib.get()
    assert isinstance(realize, tir.BlockRealize)
    block = realize.block
    assert (block.name_hint, dict(block.annotations)) == ("block", {"key": "value"})
    assert (len(block.reads), len(block.writes), len(block.alloc_buffers)) == (1, 1, 1)
    assert repr(realize.predicate) == "v > 0"


def test_a_module_of_functions() -> None:
    with IRBuilder() as ib:
        with I.ir_module():
            I.module_attrs({"version": 1})
            for name in ("one", "two"):
                with T.prim_func():
                    T.func_name(name)
                    A = T.arg("A", T.Buffer((4,), "float32"))
                    with T.parallel(4) as i:
                        T.buffer_store(A, T.float32(1 if name == "one" else 2), [i])
    module = ib.get()
    out = np.zeros(4, np.float32)
    ls.build(module)["two"](out)
    assert out.tolist() == [2] * 4
    assert len(module) == 2


@S.prim_func(private=True)
def half(x: S.float32) -> S.float32:
    return x * S.float32(0.5)


def test_a_declared_function_is_called_before_it_is_defined() -> None:
    with IRBuilder() as ib:
        with I.ir_module():
            later = I.decl_function("half", half)
            with T.prim_func():
                T.func_name("main")
                A = T.arg("A", T.Buffer((4,), "float32"))
                with T.serial(4) as i:
                    T.buffer_store(A, later(A[i]), [i])
            I.def_function("half", half)
    module = ib.get()
    out = np.arange(4, dtype=np.float32)
    ls.build(module)["main"](out)
    assert out.tolist() == [0, 0.5, 1, 1.5]


def test_functions_are_declared_once_and_defined_once() -> None:
    with pytest.raises(ls.ScriptError, match=r"I\.decl_function is used outside of a builder"):
        I.decl_function("f", half)
    with IRBuilder():
        with pytest.raises(ls.ScriptError, match=r"I\.def_function is used outside of a module"):
            I.def_function("f", half)
        with pytest.raises(ls.ScriptError, match="function f is declared, but not defined"):
            with I.ir_module():
                I.decl_function("f", half)
        with pytest.raises(ls.ScriptError, match="function f is declared twice"):
            with I.ir_module():
                I.decl_function("f", half)
                I.decl_function("f", half)
        with pytest.raises(ls.ScriptError, match="function f is defined twice"):
            with I.ir_module():
                I.def_function("f", half)
                with T.prim_func():
                    T.func_name("f")


def test_what_is_built_by_mistake_is_refused() -> None:
    with pytest.raises(ValueError, match="no builder is open"):
        IRBuilder.current()
    assert not IRBuilder.is_in_scope()
    with pytest.raises(ls.ScriptError, match=r"T\.prim_func is used outside of a builder"):
        T.prim_func()
    with IRBuilder() as ib:
        with pytest.raises(ls.ScriptError, match=r"T\.Then or T\.Else stands outside of T\.If"):
            with T.Then():
                pass
        with pytest.raises(ls.ScriptError, match="a frame is still open"), T.prim_func():
            ib.get()
        with pytest.raises(ls.ScriptError, match=r"parameter x: a text is no type"):
            with T.prim_func():
                T.arg("x", "float32")
        with pytest.raises(ls.ScriptError, match=r"T\.where is used outside of a block"):
            T.where(True)
        outer, inner = T.serial(4), T.serial(4)
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(ls.ScriptError, match="a frame is left that is not the innermost"):
            outer.__exit__(None, None, None)
        inner.__exit__(ValueError, None, None)
        outer.__exit__(ValueError, None, None)
        # A failure inside of a frame drops what it had.
        with pytest.raises(ZeroDivisionError), T.serial(4):
            raise ZeroDivisionError
        T.evaluate(7)
    assert repr(ib.get()) == "T.evaluate(7)"
