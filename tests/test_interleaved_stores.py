# SPDX-License-Identifier: Apache-2.0
"""Vectors that are stored into every second, third or fourth element."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir


def interleaved(count: int, dtype: str) -> tir.PrimFunc:
    """Return a program that makes records of so many members."""
    members = "\n".join(
        f"        B[{count} * i + {k}] = A[i] * T.{dtype}({k + 1})" for k in range(count)
    )
    return ls.from_source(f"""
@T.prim_func
def interleaved(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "{dtype}")
    B = T.match_buffer(b, ({count} * n,), "{dtype}")
    for i in range(n):
{members}
""")


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "float16"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_members_of_records_are_one_store(count: int, dtype: str, target: str) -> None:
    sch = tir.Schedule(interleaved(count, dtype))
    _, lanes = sch.split("i", [None, 16])
    sch.vectorize(lanes)
    run = ls.build(sch, target)
    for n in (0, 1, 7, 100, 515):
        a = (np.arange(n) % 30).astype(dtype)
        b = np.zeros(count * n, dtype)
        run(a, b)
        expected = np.stack([a * np.array(k + 1, dtype) for k in range(count)], 1)
        np.testing.assert_array_equal(b.reshape(n, count), expected)


def test_pairs_are_exchanged_in_place() -> None:
    func = ls.from_source("""
@T.prim_func
def sorted_pairs(A: T.Buffer((512,), "float32")):
    for i in range(256):
        least: T.float32 = T.min(A[2 * i], A[2 * i + 1])
        A[2 * i + 1] = T.max(A[2 * i], A[2 * i + 1])
        A[2 * i] = least
""")
    sch = tir.Schedule(func)
    sch.vectorize("i")
    assert sch.verify()
    a = np.random.default_rng(0).random(512, "float32")
    expected = np.sort(a.reshape(256, 2), axis=1).ravel()
    ls.build(sch)(a)
    np.testing.assert_array_equal(a, expected)
