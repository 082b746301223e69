# SPDX-License-Identifier: Apache-2.0
"""Buffers with views, in another scope, of another type, with separators; and constants."""

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


@T.prim_func
def through_declared_views(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    flat = T.decl_buffer((63,), data=B.data, elem_offset=1)
    bits = T.decl_buffer((4, 16), "int32", data=B.data)
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi // 8, vi % 8] = A[vi // 8, vi % 8]
    for i, j in T.grid(7, 9):
        with T.block("C"):
            v = T.axis.spatial(63, i * 9 + j)
            C[v // 8, v % 8] = flat[v] + T.reinterpret("float32", bits[v // 16, v % 16])


def test_elements_stay_where_they_are_when_physical_axes_change():
    sch = tir.Schedule(through_declared_views)
    sch.set_axis_separator("B", ("write", 0), [1])
    assert "B = T.alloc_buffer((8, 8), axis_separators=[1])" in sch.func.script()
    assert sch.verify().answer == "same"
    a = np.arange(64, dtype="float32")
    for target in ("llvm", "c"):
        c = np.zeros((8, 8), "float32")
        ls.build(sch, target=target)(a.reshape(8, 8), c)
        np.testing.assert_array_equal(c.reshape(64)[:63], a[1:] + a[:63])


@T.prim_func
def with_constants(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    values = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
    K = T.decl_buffer((4,), "float32", data=values)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] + K[3 - vi]


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.cache_read("C", 1, "global"),
        lambda sch: sch.reindex("C", ("read", 1)),
        lambda sch: sch.reindex_cache_read("C", 1, "global", lambda i: (i,)),
        lambda sch: sch.read_at(sch.get_loops("C")[0], "C", 1, "global"),
    ],
)
def test_constants_are_copied_where_they_are_known(step: Callable[[tir.Schedule], Any]):
    sch = tir.Schedule(with_constants)
    step(sch)
    assert sch.verify().answer == "same"
    c = np.zeros(4, "float32")
    ls.build(sch)(np.ones(4, "float32"), c)
    np.testing.assert_array_equal(c, [5, 4, 3, 2])
