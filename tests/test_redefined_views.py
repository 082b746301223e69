# SPDX-License-Identifier: Apache-2.0
"""Buffers that a match_buffer views, in another scope, of another type, with separators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def through_views(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            T.reads(B[vi, 0:8])
            T.writes(C[vi, 0:8])
            row = T.match_buffer(B[vi, 0:8], (8,), offset_factor=1)
            with T.block("inner"):
                T.reads(row[0:8])
                T.writes(C[vi, 0:8])
                half = T.match_buffer(row[4:8], (4,), offset_factor=1)
                for j in range(4):
                    C[vi, j] = row[j] + T.float32(1)
                    C[vi, j + 4] = half[j] + T.float32(1)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (lambda sch: sch.set_scope("B", 0, "shared"), 'scope="shared"'),
        (lambda sch: sch.unsafe_set_dtype("B", 0, "float64"), '(8,), "float64"'),
        (lambda sch: sch.set_axis_separator("B", ("write", 0), [1]), "axis_separators=[1]"),
    ],
)
def test_views_follow_their_source(step: Callable[[tir.Schedule], Any], text: str):
    sch = tir.Schedule(through_views)
    step(sch)
    assert text in sch.func.script()
    assert sch.verify().answer == "same"
    a, c = np.arange(128, dtype="float32").reshape(16, 8), np.zeros((16, 8), "float32")
    ls.build(sch)(a, c)
    np.testing.assert_array_equal(c, a * 2 + 1)
    again = tir.Schedule(through_views)
    sch.trace.apply_to_schedule(again)
    assert ls.structural_equal(again.func, sch.func)
