# SPDX-License-Identifier: Apache-2.0
"""Accesses that leave their tensors for certain are refused by `build`; others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import from_source

HEAD = "@T.prim_func\ndef f(A: T.Buffer((8, 8), 'float32'), B: T.Buffer((8, 8), 'float32')):\n"


def refusal(body: str) -> str:
    with pytest.raises(ls.BoundsError) as caught:
        ls.build(from_source(HEAD + body))
    assert caught.value.code == "access_is_in_bounds"
    return str(caught.value).split("\n  at ")[0]


def test_a_read_beyond_the_end_names_the_index():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j + 1], name="B")
    with pytest.raises(ls.BoundsError) as caught:
        ls.build([A, B])
    assert str(caught.value).startswith(
        "A[v_i, v_j + 1] reads index 8 of dimension 1, which has 8 elements, where j = 7\n"
        "  hint: make the loop shorter, or guard the access by a condition"
    )


def test_a_write_before_the_begin_names_the_index():
    body = "    for i, j in T.grid(8, 8):\n        B[i, 3 - j] = A[i, j]\n"
    assert refusal(body).startswith(
        "B[i, 3 - j] writes index -4 of dimension 1, which has 8 elements, where j = 7"
    )


def test_a_sum_of_loops_is_followed():
    body = "    for i, j in T.grid(4, 8):\n        B[i * 2 + j, 0] = 1.0\n"
    assert "writes index 13 of dimension 0, which has 8 elements, where" in refusal(body)


IN_BOUNDS = [
    "    for i, j in T.grid(8, 7):\n        B[i, j] = A[i, j + 1]\n",
    # Under a condition, or as one of several values.
    "    for i, j in T.grid(8, 8):\n        if j < 7:\n            B[i, j] = A[i, j + 1]\n",
    "    for i, j in T.grid(8, 8):\n"
    "        B[i, j] = T.if_then_else(j < 7, A[i, j + 1], 0.0)\n",
    # Never more than 7, though the parts are.
    "    for i, j in T.grid(8, 8):\n        B[i, j + i - i] = A[i, (i + j) % 8]\n",
    "    for i in range(0):\n        B[i, 9] = 1.0\n",
    "    for i in range(9):\n        if i == 8:\n            break\n        B[i, 0] = 1.0\n",
    # A block without axes sees the loops that its predicate guards.
    "    for i, j in T.grid(3, 3):\n"
    "        with T.block('b'):\n"
    "            T.where(i * 3 + j < 8)\n"
    "            B[i * 3 + j, 0] = 1.0\n",
]  # fmt: skip


@pytest.mark.parametrize("body", IN_BOUNDS)
def test_what_may_stay_inside_is_built(body: str):
    ls.build(from_source(HEAD + body))


GATHER = """@T.prim_func
def gather(A: T.Buffer((8,), "float32"), I: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[I[vi]] * 2.0
"""


def test_checks_stop_a_program_that_leaves_a_tensor():
    checked = ls.build(from_source(GATHER), checks=True)
    a, i = np.arange(8, dtype="float32"), np.array([0, 7, 3, 3], "int32")
    np.testing.assert_array_equal(checked(a, i), a[i] * 2)
    for wrong in (8, -1):
        i[2] = wrong
        with pytest.raises(
            ls.CallError, match=r"A is read outside of dimension 0: index I_1\[vi\]"
        ):
            checked(a, i)


def test_checks_leave_results_as_they_are():
    A, B = (te.placeholder((9, 9), name=name) for name in "AB")
    sch = tir.Schedule(te.create_prim_func([A, B, te.nn.matmul(A, B)]))
    i, j, _ = sch.get_loops("matmul")
    sch.vectorize(sch.split(j, [None, 4])[1])
    sch.parallel(i)
    a, b = np.random.default_rng(0).random((2, 9, 9), "float32")
    np.testing.assert_allclose(ls.build(sch, checks=True)(a, b), a @ b, rtol=1e-5)
    padded = te.nn.pad(A, [1, 1], [1, 1])
    np.testing.assert_array_equal(ls.build([A, padded], checks=True)(a), np.pad(a, 1))


def test_a_program_that_leaves_a_tensor_is_not_verified_to_be_the_same():
    func = from_source(
        HEAD + "    for i, j in T.grid(8, 8):\n"
        "        with T.block('b'):\n"
        "            u, v = T.axis.remap('SS', [i, j])\n"
        "            B[u, v] = A[u, v + 1]\n"
    )
    sch = tir.Schedule(func)
    sch.split("j", [None, 4])
    assert not sch.verify()
    assert sch.verify().answer == "undecided"
    assert "index 8 of dimension 1 is outside [0, 8)" in sch.verify().reason
    with pytest.raises(ls.InterpError, match=r"undecided: .* index 8 of dimension 1 is outside"):
        ls.assert_same(func, sch.func)


def ragged(extent_of_a, tile: int | None = None):
    A = te.placeholder((extent_of_a,), name="A")
    B = te.compute((te.var("m"),), lambda i: A[i] + 1, name="B")
    schedule = te.create_schedule(B)
    if tile:
        schedule[B].vectorize(schedule[B].split(B.op.axis[0], tile)[1])
    return schedule, [A, B]


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("tile", [None, 8])
def test_sizes_with_which_an_access_leaves_its_tensor_are_refused_by_the_call(target, tile):
    function = ls.build(*ragged(te.var("n"), tile), target)
    for n, m in [(9, 9), (9, 4), (0, 0), (4, 0)]:
        b = np.zeros(m, "float32")
        function(np.ones(n, "float32"), b)
        np.testing.assert_array_equal(b, np.full(m, 2))
    with pytest.raises(ls.CallError) as caught:
        function(np.ones(5, "float32"), np.zeros(1_000_000, "float32"))
    axis = "v_i" if tile else "i"
    assert str(caught.value) == (
        "main: A[v_i] reads index m - 1 of dimension 0, which has n elements, "
        f"where {axis} = m - 1: pass arguments whose sizes agree"
    )


def test_a_size_beside_a_constant_is_asked_for():
    function = ls.build(*ragged(100))
    function(np.ones(100, "float32"), np.zeros(100, "float32"))
    with pytest.raises(ls.CallError, match="reads index m - 1 of dimension 0, which has 100 elem"):
        function(np.ones(100, "float32"), np.zeros(101, "float32"))


def test_ragged_tiles_are_looked_at():
    A = te.placeholder((100,), name="A")
    B = te.compute((101,), lambda i: A[i] + 1, name="B")
    schedule = te.create_schedule(B)
    schedule[B].split(B.op.axis[0], 32)
    with pytest.raises(ls.BoundsError, match="reads index 100 of dimension 0, which has 100 elem"):
        ls.build(schedule, [A, B])


def test_sizes_that_fit_by_their_form_are_not_asked_for():
    n = te.var("n")
    A = te.placeholder((n + 2,), name="A")
    B = te.compute((n,), lambda i: A[i] + A[i + 2], name="B")
    assert "assert" not in ls.build([A, B]).source("tir")


def test_an_index_of_a_dimension_that_is_broadcast_may_leave_it():
    func = from_source(
        "@T.prim_func\n"
        "def f(a: T.handle, b: T.handle):\n"
        "    n, m = T.int32(), T.int32()\n"
        "    A = T.match_buffer(a, (n,), 'float32', buffer_type='auto_broadcast')\n"
        "    B = T.match_buffer(b, (m,), 'float32')\n"
        "    for i in range(m):\n"
        "        B[i] = A[i] + 1.0\n"
    )
    function, b = ls.build(func), np.zeros(4, "float32")
    function(np.ones(1, "float32"), b)
    np.testing.assert_array_equal(b, np.full(4, 2))
    with pytest.raises(ls.CallError, match="reads index m - 1 of dimension 0, which has n elem"):
        function(np.ones(3, "float32"), b)


def of_two_sizes(body: str, parameters: str = "") -> Any:
    head = (
        f"@T.prim_func\ndef f({parameters}a: T.handle, b: T.handle):\n"
        "    n, m = T.int32(), T.int32()\n"
        "    A = T.match_buffer(a, (n,), 'float32')\n"
        "    B = T.match_buffer(b, (m,), 'float32')\n"
    )
    return ls.build(from_source(head + body))


BLOCK = (
    "    for i in range(n):\n"
    "        with T.block('B'):\n"
    "            v = T.axis.spatial(n, i)\n"
    "            T.where({})\n"
    "            B[v] = A[v]\n"
)


@pytest.mark.parametrize("condition", ["n <= m", "i < n and n <= m", "n <= m and 0 < n"])
def test_a_condition_of_sizes_guards_a_block(condition: str) -> None:
    function = of_two_sizes(BLOCK.format(condition))
    for n, m in [(8, 3), (3, 8), (0, 2)]:
        b = np.zeros(m, "float32")
        function(np.ones(n, "float32"), b)
        np.testing.assert_array_equal(b, np.arange(m) < n if n <= m else np.zeros(m))


def test_a_condition_on_a_loop_of_one_iteration_is_one_of_sizes() -> None:
    function, b = of_two_sizes(BLOCK.replace("(n", "(1").format("i < m")), np.zeros(0, "float32")
    function(np.ones(3, "float32"), b)


def test_a_condition_of_sizes_that_holds_guards_nothing() -> None:
    function = of_two_sizes(BLOCK.format("2 <= m"))
    function(np.ones(3, "float32"), np.zeros(1, "float32"))
    with pytest.raises(ls.CallError, match="writes index n - 1 of dimension 0, which has m elem"):
        function(np.ones(3, "float32"), np.zeros(2, "float32"))


@pytest.mark.parametrize("leave", ["return", "T.evaluate(T.ret(0))"])
def test_a_function_that_may_have_been_left_asks_for_nothing(leave: str) -> None:
    rest = "    for i in range(n):\n        B[i] = A[i]\n"
    function, b = of_two_sizes(f"    if n > m:\n        {leave}\n{rest}"), np.zeros(3, "float32")
    function(np.ones(8, "float32"), b)
    np.testing.assert_array_equal(b, np.zeros(3))


def test_a_part_of_a_size_may_be_negative() -> None:
    func = from_source(
        "@T.prim_func\n"
        "def f(k: T.int32, a: T.handle, b: T.handle, c: T.handle):\n"
        "    m, n = T.int32(), T.int32()\n"
        "    A = T.match_buffer(a, (k + 8,), 'float32')\n"
        "    B = T.match_buffer(b, (m,), 'float32')\n"
        "    C = T.match_buffer(c, (n,), 'float32')\n"
        "    for i, j in T.grid(k + 4, m):\n"
        "        C[j] = A[i] + B[j]\n"
    )
    c = np.zeros(3, "float32")
    ls.build(func)(-5, np.ones(3, "float32"), np.ones(10, "float32"), c)
    np.testing.assert_array_equal(c, np.zeros(3))
