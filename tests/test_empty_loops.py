# SPDX-License-Identifier: Apache-2.0
"""What holds inside of a loop alone is not used where the loop does not run."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith.script import tir as T  # noqa: N812

AFTER = {
    "index": "C[T.if_then_else(a < b, 1, 2), 3] = 2",
    "extremes": "C[T.max(a, b), T.min(a, b)] = 7",
    "condition": """
    for j in range(16):
        if j < T.if_then_else(a < b, 3, 9):
            C[j, 5] = 4
""",
    "other_loop": """
    for j in range(b, a):
        C[j, 1] += T.if_then_else(b < a, 3, 4)
""",
    "lanes": """
    for j in T.vectorized(16):
        C[j, 2] = T.if_then_else(j < T.max(a, b), T.Select(a < b, 5, 6), B[T.max(a, b) - 1])
""",
}
WITHIN = {
    "last": "if i >= b - 1:\n            C[i, 0] = 7",
    "all_but_the_last": "if i < b - 1:\n            C[i, 0] = 7",
    "first": "if i <= a:\n            C[i, 0] = 7\n        if i + 1 >= b:\n            C[i, 1] = 3",
    "middle": "if i > a:\n            if i < b - 1:\n                C[i, 0] = B[i - 1] + B[i + 1]",
}


def compare(kind: str, within: str, after: str) -> None:
    func = ls.from_source(f"""
@T.prim_func
def main(a: T.int32, b: T.int32, B: T.Buffer((17,), "int32"), C: T.Buffer((16, 16), "int32")):
    for i in T.{kind}(a, b):
        {within}
    {after}
""")
    kernel = ls.build(func)
    for a, b in ((3, 8), (8, 3), (1, 15), (15, 1), (5, 5), (6, 5), (5, 6), (14, 2)):
        found = [np.arange(17, dtype="int32"), np.zeros((16, 16), "int32")]
        expected = [one.copy() for one in found]
        kernel(a, b, *found)
        ls.interp.run(func, a, b, *expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"a = {a}, b = {b}")


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("after", AFTER)
def test_nothing_is_known_after_a_loop_that_did_not_run(kind: str, after: str) -> None:
    compare(kind, "B[i] = 1", AFTER[after])


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("within", WITHIN)
def test_parts_of_a_loop_run_where_the_loop_does(kind: str, within: str) -> None:
    compare(kind, WITHIN[within], "C[0, 0] += 1")


@T.prim_func
def beyond_the_end(A: T.Buffer((8, 64), "float32")) -> None:
    for i in range(8):
        for k in T.vectorized(i, 5):
            A[i, k] = T.float32(1)


def test_lanes_of_a_loop_that_ends_before_it_starts_do_nothing():
    a = np.zeros((8, 64), "float32")
    ls.build(beyond_the_end)(a)
    expected = np.zeros((8, 64), "float32")
    for i in range(5):
        expected[i, i:5] = 1
    np.testing.assert_array_equal(a, expected)
