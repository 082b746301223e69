# SPDX-License-Identifier: Apache-2.0
"""Forms in which programs of the field are written."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T


def test_intrinsics_may_say_their_type() -> None:
    @T.prim_func
    def main(A: T.Buffer((4,)), n: T.int32):
        for i in range(4):
            A[i] = T.if_then_else(
                T.likely(i < n, dtype="bool"), T.exp(A[i], dtype="float32"), 0.0, dtype="float32"
            )
        T.evaluate(T.call_extern("abs", n, dtype="int32"))
        T.evaluate(T.tvm_storage_sync("shared", dtype="handle"))

    text = main.script()
    assert "T.if_then_else(T.likely(i < n), T.exp(A[i]), T.float32(0))" in text
    assert 'T.call_extern("int32", "abs", n)' in text


def test_a_type_that_the_value_has_not_is_refused() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = T.exp(A[1], dtype="float64")\n'
    with pytest.raises(ls.ScriptError) as caught:
        ls.from_source(text)
    assert caught.value.problem == "T.exp: dtype is float64, the value is float32"
    assert caught.value.hint == "cast an operand, or the value: T.cast(value, dtype)"


def test_one_name_for_the_loops_of_a_grid() -> None:
    @T.prim_func
    def main(A: T.Buffer((2, 4), "int32")):
        for ij in T.grid(2, 4):
            with T.block("b"):
                v = T.axis.remap("SS", ij)
                A[v[0], v[1]] = v[0] * 10 + v[1] + ij[0] * 0
            A[ij] = A[ij] + 1

    out = np.zeros((2, 4), np.int32)
    ls.interp.run(main, out)
    assert out.tolist() == [[1, 2, 3, 4], [11, 12, 13, 14]]
    assert [loop.name for loop in (main.body.block.body.loop_var,)] == ["ij_0"]


def test_range_takes_annotations() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,))):
        for i in range(8, annotations={"pragma_unroll_explicit": 1}):
            A[i] = T.float32(0)

    assert dict(main.body.annotations) == {"pragma_unroll_explicit": 1}


def test_sizes_by_their_nodes_and_before_their_declaration() -> None:
    @T.prim_func
    def main(a: T.handle, B: T.Buffer((k,)), k: T.int32):  # noqa: F821
        n = T.SizeVar("n", "int64")
        m = T.Var("m", "int32")
        half = m // 2
        A = T.match_buffer(a, (n, m))
        for i in range(half):
            A[0, i] = B[i]

    assert "n = T.int64(is_size_var=True)" in main.script()
    A = np.zeros((1, 6), np.float32)
    ls.build(main)(A, np.arange(3, dtype=np.float32), 3)
    assert A[0].tolist() == [0, 1, 2, 0, 0, 0]


def scratch(extent: int) -> ls.tir.Buffer:
    """Declare memory for the function that is read."""
    made = T.alloc_buffer((extent,), "float32", scope="local")
    assert isinstance(made, ls.tir.Buffer)
    return made


def test_helpers_declare_memory_of_the_function_that_is_read() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,))):
        S = scratch(8)
        for i in range(8):
            S[i] = A[i] * T.float32(2)
        for i in range(8):
            A[i] = S[7 - i]

    assert 'S = T.alloc_buffer((8,), scope="local")' in main.script()
    A = np.arange(8, dtype=np.float32)
    ls.build(main)(A)
    assert A.tolist() == [14, 12, 10, 8, 6, 4, 2, 0]
    with pytest.raises(ls.ScriptError, match=r"T\.alloc_buffer is used outside of a function"):
        scratch(8)


def test_macros_take_keywords_and_meta_vars_are_tuples() -> None:
    @T.macro
    def fill(buffer, **options):
        buffer[options["at"]] = options["value"]

    @T.prim_func
    def main(A: T.Buffer((8,))):
        fill(A, at=3, value=2.0)
        first, second = T.meta_var((1, 2))
        pair = T.meta_var((5, 6))
        A[first] = A[second] + A[pair[0]]

    assert main.script().splitlines()[-2:] == ["    A[3] = T.float32(2)", "    A[1] = A[2] + A[5]"]

    @T.macro
    def clear(buffer):
        buffer[0] = 0.0

    with pytest.raises(ls.ScriptError, match="macro clear has no parameter at"):

        @T.prim_func
        def wrong(A: T.Buffer((8,))):
            clear(A, at=3)


def test_a_starred_name_takes_the_loops_that_others_leave():
    rows = """
@T.prim_func
def sums(A: T.Buffer((2, 3, 4), "int32"), B: T.Buffer((2, 3), "int32")):
    for *outer, k in T.grid(*A.shape):
        with T.block("sum"):
            with T.init():
                B[outer] = 0
            B[outer] = B[outer] + A[(*outer, k)]
"""
    plain = rows.replace("*outer, k in", "i, j, k in").replace("(*outer, k)", "i, j, k")
    named = ls.from_source(plain.replace("B[outer]", "B[i, j]"))
    assert ls.structural_equal(ls.from_source(rows), named)
    first = (
        "@T.prim_func\ndef f():\n    for i, *rest in T.grid(2, 3):\n        T.evaluate(rest[0])\n"
    )
    assert "T.evaluate(rest_0)" in ls.from_source(first).script()
    with pytest.raises(ls.ScriptError, match="for: 3 names for 1 loops"):
        ls.from_source(first.replace("i, *rest", "i, j, *rest").replace("2, 3", "2"))


def test_annotations_of_a_block_are_joined():
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    with T.block("b"):
        T.block_attr({"one": 1})
        T.block_attr({"two": 2, "one": 1})
        T.where(1)
        A[0] = 1
"""
    block = ls.from_source(text).body.block
    assert {key: int(value) for key, value in block.annotations.items()} == {"one": 1, "two": 2}
    with pytest.raises(ls.ScriptError, match=r"T\.block_attr: one is given twice"):
        ls.from_source(text.replace('"two": 2, "one": 1', '"one": 3'))


def test_dicts_among_the_annotations_of_a_block_are_joined():
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    with T.block("b"):
        T.block_attr({"hints": {"unroll": 4}})
        T.block_attr({"hints": {"pipeline": 2}})
        A[0] = 1
"""
    hints = ls.from_source(text).body.block.annotations["hints"]
    assert {key: int(value) for key, value in hints.items()} == {"unroll": 4, "pipeline": 2}
    with pytest.raises(ls.ScriptError, match=r"T\.block_attr: unroll is given twice"):
        ls.from_source(text.replace('"pipeline": 2', '"unroll": 8'))


def test_what_a_helper_names_leaves_no_trace():
    def place(i, j):
        return T.meta_var((i * 4 + j, j))

    @T.prim_func
    def main(A: T.Buffer((16, 4))):
        for i, j in T.grid(4, 4):
            row, column = place(i, j)
            A[row, column] = 1.0

    assert main.script().splitlines()[-1] == "        A[i * 4 + j, j] = T.float32(1)"


class Scratch:
    """Memory of a function, with lines that fill it."""

    def __init__(self, like: tir.Buffer) -> None:
        self.buffer = T.alloc_buffer(like.shape, like.dtype)

    @T.macro
    def load(self, source):
        for i in range(8):
            self.buffer[i] = source[i]


def test_macros_are_methods_of_objects_of_the_script():
    @T.prim_func
    def main(A: T.Buffer((8,)), B: T.Buffer((8,))):
        scratch = T.meta_var(Scratch(A))
        scratch.load(A)
        for i in range(8):
            B[i] = scratch.buffer[7 - i]

    given, found = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    ls.build(main)(given, found)
    assert found.tolist() == given[::-1].tolist()
    with pytest.raises(ls.FormatError, match=r"T\.macro: True is no function"):
        T.macro(True)


def test_a_function_returns_what_it_says_or_what_it_returns_first():
    @T.prim_func
    def five():
        return 5

    assert five.ret_type == "int32"
    text = "@T.prim_func\ndef f(n: T.int32){}:\n    if n < 3:\n        return n\n    return {}\n"
    with pytest.raises(ls.ScriptError, match="the value is float32, the function returns int32"):
        ls.from_source(text.format("", "T.float32(1)"))
    with pytest.raises(ls.ScriptError, match="the value is int32, the function returns void"):
        ls.from_source(text.format(" -> None", "1"))


def test_a_buffer_is_prefetched_by_its_ranges():
    @T.prim_func
    def main(A: T.Buffer((8, 4))):
        T.prefetch(A, [])
        T.prefetch(A, [T.Range(2, 4), 1])

    text = main.script()
    assert "T.prefetch(A[0:8, 0:4])" in text
    assert "T.prefetch(A[2:4, 1])" in text or "T.prefetch(A[2:4, 1:2])" in text
