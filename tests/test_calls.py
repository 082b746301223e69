# SPDX-License-Identifier: Apache-2.0
"""Functions of a module that call each other, compiled and interpreted."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.ir import make_module
from loopsmith.script import ir as I
from loopsmith.script import tir as T

TARGETS = ["llvm -mcpu=native", "c"]


@I.ir_module
class Numbers:
    @T.prim_func(private=True)
    def collatz(start: T.int32) -> T.int32:
        n = T.alloc_buffer((), "int32", scope="local")
        n[()] = start
        for steps in range(1000):
            if n[()] == 1:
                return steps
            if n[()] % 2 == 0:
                n[()] = n[()] // 2
            else:
                n[()] = 3 * n[()] + 1
        return -1

    @T.prim_func
    def main(A: T.Buffer((100,), "int32"), B: T.Buffer((100,), "int32")):
        for i in T.parallel(100):
            B[i] = cls.collatz(A[i]) * 2  # noqa: F821


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_returns_early_with_a_value(target: str):
    def collatz(n: int) -> int:
        for steps in range(1000):
            if n == 1:
                return steps
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        return -1

    a = np.arange(1, 101, dtype="int32")
    b, interpreted = np.zeros_like(a), np.zeros_like(a)
    ls.build(Numbers, target=target)(a, b)
    np.testing.assert_array_equal(b, [2 * collatz(n) for n in a.tolist()])
    ls.interp.run(Numbers, a, interpreted)
    np.testing.assert_array_equal(interpreted, b)


@I.ir_module
class Rows:
    @T.prim_func(private=True)
    def dot(x: T.handle, y: T.handle, row: T.int32) -> T.float32:
        n = T.int32(is_size_var=True)
        rows = T.int32(is_size_var=True)
        X = T.match_buffer(x, (rows, n), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        total = T.alloc_buffer((), "float32", scope="local")
        total[()] = T.float32(0)
        for k in range(n):
            total[()] = total[()] + X[row, k] * Y[k]
        return total[()]

    @T.prim_func(private=True)
    def clear(y: T.handle):
        m = T.int32(is_size_var=True)
        Y = T.match_buffer(y, (m,), "float32")
        for i in range(m):
            Y[i] = T.float32(0)

    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        n = T.int32(is_size_var=True)
        m = T.int32(is_size_var=True)
        A = T.match_buffer(a, (m, n), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (m,), "float32")
        cls.clear(C.data)  # noqa: F821
        for i in range(m):
            if i % 2 == 0 and cls.dot(A.data, B.data, i) > T.float32(0):  # noqa: F821
                C[i] = C[i] + cls.dot(A.data, B.data, i)  # noqa: F821


@pytest.mark.parametrize("target", TARGETS)
def test_tensors_are_passed_with_their_sizes(target: str):
    a = np.random.default_rng(0).integers(-4, 5, (9, 7)).astype("float32")
    b = np.random.default_rng(1).integers(-4, 5, 7).astype("float32")
    c = np.full(9, 7, "float32")
    a.setflags(write=False)  # `dot` only reads.
    module = ls.build(Rows, target=target)
    module["main"](a, b, c)
    expected = np.where((np.arange(9) % 2 == 0) & (a @ b > 0), a @ b, 0)
    np.testing.assert_array_equal(c, expected)
    interpreted = np.full(9, 7, "float32")
    ls.interp.run(Rows, a.copy(), b, interpreted)
    np.testing.assert_array_equal(interpreted, expected)


def test_what_others_call_is_also_an_entry_unless_it_gives_a_value(tmp_path):
    module = ls.build(Rows)
    assert sorted(module.names) == ["clear", "main"]
    y = np.ones(5, "float32")
    module["clear"](y)
    assert not y.any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_that_calls_is_exported(tmp_path, target: str):
    path = tmp_path / "numbers.so"
    module = make_module({"count": Numbers["main"], "collatz": Numbers["collatz"]})
    ls.build(module, target=target).export(str(path))
    a = np.arange(1, 101, dtype="int32")
    b, again = np.zeros_like(a), np.zeros_like(a)
    ls.build(Numbers)(a, b)
    ls.load_module(str(path))["count"](a, again)
    np.testing.assert_array_equal(b, again)


@I.ir_module
class Conditions:
    @T.prim_func(private=True)
    def checked(x: T.int32) -> T.int32:
        assert x >= 0, "x is not negative"
        return x + 1

    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = T.if_then_else(A[i] >= 0, cls.checked(A[i]), -1)  # noqa: F821
        i = T.alloc_buffer((), "int32", scope="local")
        i[()] = 0
        while cls.checked(i[()]) < 4:  # noqa: F821
            i[()] = cls.checked(cls.checked(i[()]))  # noqa: F821
            B[i[()]] = 100

    @T.prim_func
    def fails(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = cls.checked(A[i])  # noqa: F821


@pytest.mark.parametrize("target", TARGETS)
def test_calls_run_where_their_value_is_asked_for(target: str):
    a = np.array([3, -5, 0, -1, 2, -7, 9, 1], "int32")
    b = np.zeros_like(a)
    module = ls.build(Conditions, target=target)
    module["main"](a, b)
    expected = np.where(a >= 0, a + 1, -1)
    expected[[2, 4]] = 100
    np.testing.assert_array_equal(b, expected)
    with pytest.raises(ls.CallError, match="x is not negative"):
        module["fails"](a, b)


def refusal(module: tir.IRModule) -> str:
    with pytest.raises(ls.UserError) as caught:
        ls.build(module)
    return str(caught.value)


def test_functions_that_call_themselves_are_refused():
    @I.ir_module
    class Loop:
        @T.prim_func(private=True)
        def f(x: T.int32) -> T.int32:
            return cls.f(x - 1)  # noqa: F821

        @T.prim_func
        def main(A: T.Buffer((1,), "int32")):
            A[0] = cls.f(A[0])  # noqa: F821

    assert "function f calls itself, directly or through others" in refusal(Loop)


def test_a_value_that_no_function_takes_is_refused():
    @I.ir_module
    class Lonely:
        @T.prim_func
        def main(x: T.int32) -> T.int32:
            return x

    assert "Return gives a value, which a host cannot take" in refusal(Lonely)


def test_a_pointer_without_sizes_is_refused():
    @I.ir_module
    class Sizes:
        @T.prim_func(private=True)
        def clear(y: T.handle):
            m = T.int32(is_size_var=True)
            Y = T.match_buffer(y, (m,), "float32")
            for i in range(m):
                Y[i] = T.float32(0)

        @T.prim_func
        def main(A: T.Buffer((4, 4), "float32")):
            cls.clear(A.data)  # noqa: F821

    assert "clear: Y is given a pointer, and its sizes are not given" in refusal(Sizes)


def test_a_tensor_of_another_size_is_refused():
    @I.ir_module
    class Sizes:
        @T.prim_func(private=True)
        def clear(Y: T.Buffer((8,), "float32")):
            for i in range(8):
                Y[i] = T.float32(0)

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            cls.clear(A.data)  # noqa: F821

    assert "clear: dimension 0 of Y is 8, it is given 4" in refusal(Sizes)


@pytest.mark.parametrize("target", TARGETS)
def test_what_calls_is_inspected(target: str):
    inspected = ls.build(Numbers, target=target).inspect()
    assert inspected.ir.count("def ") == 2
