# SPDX-License-Identifier: Apache-2.0
"""Sizes of parameters: bound in any order, and solved where they stand in a sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te
from loopsmith.script import tir as T


@T.prim_func
def row_lengths(indptr: T.handle, out: T.handle):
    m = T.int32()
    P = T.match_buffer(indptr, (m + 1,), "int32")
    Y = T.match_buffer(out, (m,), "int32")
    for i in range(m):
        Y[i] = P[i + 1] - P[i]


@T.prim_func
def solved_alone(p: T.handle, out: T.Buffer((1,), "int32")):
    m = T.int32()
    P = T.match_buffer(p, (1 + 2 * m,), "int32")
    out[0] = m


@T.prim_func
def solved_by_others(a: T.handle, b: T.handle, out: T.Buffer((2,), "int64")):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (m - n,), "int32")
    B = T.match_buffer(b, (n * T.int64(4) - T.int64(1),), "int32")
    out[0] = n
    out[1] = m


def runners(func: Any) -> list[Any]:
    return [ls.build(func), ls.build(func, "c"), lambda *args: ls.interp.run(func, *args)]


@pytest.mark.parametrize("kind", range(3))
def test_an_extent_may_mention_a_size_that_a_later_parameter_gives(kind: int) -> None:
    run = runners(row_lengths)[kind]
    out = np.zeros(3, np.int32)
    run(np.array([0, 2, 2, 7], np.int32), out)
    assert out.tolist() == [2, 0, 5]
    with pytest.raises(ls.UserError, match=r"P"):
        run(np.zeros(3, np.int32), out)


@pytest.mark.parametrize("kind", range(3))
def test_a_size_is_solved_from_a_linear_extent(kind: int) -> None:
    run = runners(solved_alone)[kind]
    out = np.zeros(1, np.int32)
    for extent, size in ((9, 4), (1, 0)):
        run(np.zeros(extent, np.int32), out)
        assert out[0] == size
    for extent in (8, 0):
        with pytest.raises(ls.UserError, match=f"is {extent}, "):
            run(np.zeros(extent, np.int32), out)


@pytest.mark.parametrize("kind", range(3))
def test_sizes_are_solved_one_after_the_other(kind: int) -> None:
    out = np.zeros(2, np.int64)
    runners(solved_by_others)[kind](np.zeros(5, np.int32), np.zeros(11, np.int32), out)
    assert out.tolist() == [3, 8]


def test_programs_with_solved_sizes_are_compared() -> None:
    sch = ls.tir.Schedule(row_lengths)
    sch.split(sch.get_loop("i"), factors=[None, 4])
    assert sch.verify()
    ls.assert_same(sch.func, row_lengths)


def test_a_size_in_a_product_of_sizes_is_undefined() -> None:
    text = (
        "@T.prim_func\ndef f(a: T.handle):\n    n = T.int32()\n    m = T.int32()\n"
        "    A = T.match_buffer(a, (n * m,))\n    A[0] = T.float32(n)\n"
    )
    with pytest.raises(ls.ScriptError, match="undefined variable n"):
        ls.from_source(text)


def test_placeholders_come_in_any_order() -> None:
    n = te.var("n")
    padded = te.placeholder((n + 2,), name="padded")
    plain = te.placeholder((n,), name="plain")
    total = te.compute((n,), lambda i: padded[i] + padded[i + 2] + plain[i], name="total")
    x, y = np.arange(6, dtype=np.float32), np.ones(4, np.float32)
    out = np.zeros(4, np.float32)
    ls.build([padded, plain, total])(x, y, out)
    np.testing.assert_array_equal(out, x[:4] + x[2:] + 1)
