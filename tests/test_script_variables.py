# SPDX-License-Identifier: Apache-2.0
"""Variables of scripts: which type they have, and what of them an iteration sees."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith.script import tir as T

HEADER = """@T.prim_func
def main(A: T.Buffer((8,), "float64"), B: T.Buffer((8,), "float32"), n: T.int32):
"""


def read(*lines: str) -> ls.tir.PrimFunc:
    """Read a function of these lines; the first of them is line 3."""
    func = ls.from_source(HEADER + "".join(f"    {line}\n" for line in lines), name="main.py")
    assert isinstance(func, ls.tir.PrimFunc)
    return func


def refusal(*lines: str) -> ls.ScriptError:
    with pytest.raises(ls.ScriptError) as caught:
        read(*lines)
    return caught.value


# ---- Types ----


def test_a_literal_takes_the_type_of_the_first_value_that_has_one() -> None:
    @T.prim_func
    def total(A: T.Buffer((1000,), "float64"), out: T.Buffer((1,), "float64")):
        w = 0.0
        for i in range(1000):
            w += A[i]
        out[0] = w

    values = np.random.default_rng(0).random(1000)
    expected = np.zeros(1)
    for value in values:
        expected[0] += value
    for run in (ls.build(total), lambda *arrays: ls.interp.run(total, *arrays)):
        out = np.zeros(1)
        run(values, out)
        np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_an_integer_literal_becomes_a_float_or_a_wider_integer() -> None:
    @T.prim_func
    def main(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int64"), x: T.Buffer((2,), "float64")
    ):
        total = 0
        count = 0
        for i in range(4):
            total = total + A[i]
            count = count + B[i]
        x[0] = total
        x[1] = T.Cast("float64", count)

    x = np.zeros(2)
    big = np.full(4, 2**40, np.int64)
    ls.build(main)(np.array([0.5, 1, 2, 3], np.float32), big, x)
    assert x.tolist() == [6.5, 2.0**42]


def test_types_are_found_in_macros_and_through_each_other() -> None:
    @T.macro
    def add_up(source, target):
        s = 0.0
        for i in range(4):
            s = s + source[i]
        target[0] = s

    @T.prim_func
    def main(
        A: T.Buffer((4,), "float64"),
        B: T.Buffer((4,), "float32"),
        a: T.Buffer((1,), "float64"),
        b: T.Buffer((1,), "float32"),
        c: T.Buffer((1,), "float64"),
    ):
        add_up(A, a)
        add_up(B, b)
        first = 0.0
        second = 0.0
        for i in range(4):
            first = first + A[i]
            second = second + first
        c[0] = second

    text = main.script()
    assert 'T.decl_buffer((), "float64", scope="local") as s:' in text
    assert 'T.decl_buffer((), scope="local") as s:' in text
    values = np.array([0.1, 0.2, 0.3, 0.4])
    a, b, c = np.zeros(1), np.zeros(1, np.float32), np.zeros(1)
    ls.build(main)(values, values.astype(np.float32), a, b, c)
    np.testing.assert_allclose([a[0], c[0]], [1.0, 2.0], rtol=1e-15)
    np.testing.assert_allclose(b, [1.0], rtol=1e-6)


def test_a_literal_that_does_not_fit_keeps_its_type() -> None:
    func = read("x = 300", "x = T.int8(1)", "B[0] = T.Cast('float32', x)")
    assert 'x = T.decl_buffer((), "int32"' in func.script()


@pytest.mark.parametrize(
    ("lines", "type_", "given"),
    [
        (["w = T.float32(0)", "for i in range(8):", "    w = w + A[i]"], "float32", "float64"),
        (["w = T.int32(0)", "w = T.int64(2)"], "int32", "int64"),
        (["w = T.int32(0)", "w = B[0]"], "int32", "float32"),
        (["w = 0.0", "w = B[0]", "w = A[0]"], "float32", "float64"),
        (["n = n + T.int64(1)"], "int32", "int64"),
    ],
)
def test_a_store_of_a_wider_type_is_refused(lines: list[str], type_: str, given: str) -> None:
    error = refusal(*lines)
    assert error.code == "variable_keeps_type"
    name = lines[0].split()[0]
    assert error.problem == (
        f"variable {name} is {type_}, because that is how it was first assigned; "
        f"now it is assigned a {given}"
    )
    assert error.hint == (
        f'write its first value with a type, {name} = T.{given}(0), or store T.cast(..., "{type_}")'
    )


# ---- Iterations ----


@pytest.mark.parametrize(
    ("lines", "why", "hint"),
    [
        (
            ["for i in range(8):", "    if i == 0:", "        s = T.float32(0)", "    B[i] = s"],
            "may not have assigned it",
            "write s = T.float32(0), or what it begins with, before the loop of line 3",
        ),
        (
            ["for i in range(8):", "    if i > 0:", "        B[i] = prev", "    prev = B[i]"],
            "has not assigned it yet",
            "write prev = ..., what it begins with, before the loop of line 3",
        ),
        (
            ["for i in range(8):", "    s += B[i]"],
            "has not assigned it yet",
            "write s = ..., what it begins with, before the loop of line 3",
        ),
        (
            ["for i in range(8):", "    for j in range(n):", "        t = B[j]", "    B[i] = t"],
            "may not have assigned it",
            "write t = T.float32(0), or what it begins with, before the loop of line 3",
        ),
    ],
)
def test_a_read_that_python_would_carry_over_is_refused(
    lines: list[str], why: str, hint: str
) -> None:
    error = refusal(*lines)
    assert error.code == "variable_is_not_carried"
    assert why in error.problem
    assert error.problem.endswith(
        ": a variable that is first assigned in a loop is new in each iteration"
    )
    assert error.hint == hint


@pytest.mark.parametrize(
    "lines",
    [
        # Both branches assign, or one of them leaves.
        ["for i in range(8):", "    if i > 0:", "        t = B[i]", "    else:", "        t = 1.0"],
        [
            "for i in range(8):",
            "    if i > 0:",
            "        t = B[i]",
            "    else:",
            "        continue",
        ],
        # The loop runs.
        ["for i in range(8):", "    for j in range(4):", "        t = B[j]"],
        ["for i in range(8):", "    while True:", "        t = B[i]", "        break"],
        # What Python knows chooses the branch.
        ["for i in range(8):", "    if 1 < 2:", "        t = B[i]"],
    ],
)
def test_what_each_iteration_assigns_is_read(lines: list[str]) -> None:
    func = read(*lines, "    B[i] = t + T.float32(1)")
    a, b = np.zeros(8), np.arange(8, dtype=np.float32)
    again = b.copy()
    ls.interp.run(func, a, b, 3)
    ls.build(func)(a, again, 3)
    np.testing.assert_array_equal(b, again)


def test_a_variable_from_before_the_loop_is_carried() -> None:
    func = read(
        "last = T.float32(5)",
        "for i in range(8):",
        "    if i % 2 == 0:",
        "        last = B[i]",
        "    B[i] = last",
    )
    b = np.arange(8, dtype=np.float32)
    ls.build(func)(np.zeros(8), b, 0)
    assert b.tolist() == [0, 0, 2, 2, 4, 4, 6, 6]
