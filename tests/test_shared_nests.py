# SPDX-License-Identifier: Apache-2.0
"""Copies where a producer shares loops with one consumer and not with another; dead blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T

if TYPE_CHECKING:
    from collections.abc import Callable


@T.prim_func
def shared(
    A: T.Buffer((8, 16), "float32"),
    C: T.Buffer((8, 16), "float32"),
    D: T.Buffer((8, 16), "float32"),
):
    B = T.alloc_buffer((8, 16))
    for i in range(8):
        for j in range(16):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] + T.float32(1)
        for j in range(16):
            with T.block("D"):
                v, w = T.axis.remap("SS", [i, j])
                D[v, w] = B[v, w] * T.float32(2)
    for i, j in T.grid(8, 16):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = B[v, w] * T.float32(3)


@T.prim_func
def one_row(
    A: T.Buffer((8, 16), "float32"), C: T.Buffer(16, "float32"), D: T.Buffer((8, 16), "float32")
):
    B = T.alloc_buffer((16,))
    for i in range(8):
        for j in range(16):
            with T.block("B"):
                v = T.axis.opaque(8, i)
                w = T.axis.opaque(16, j)
                T.reads(A[v, w])
                T.writes(B[w])
                B[w] = A[v, w] + T.float32(1)
        for j in range(16):
            with T.block("D"):
                v, w = T.axis.remap("SS", [i, j])
                D[v, w] = B[w] * T.float32(2)
    for j in range(16):
        with T.block("C"):
            w = T.axis.spatial(16, j)
            C[w] = B[w] * T.float32(3)


COPIES: dict[str, Callable[[tir.Schedule], object]] = {
    "cache_read": lambda sch: sch.cache_read("C", 0, "global"),
    "cache_read_inside": lambda sch: sch.cache_read("D", 0, "global", consumer_blocks=["D"]),
    "cache_read_outside": lambda sch: sch.cache_read("C", 0, "global", consumer_blocks=["C"]),
    "reindex_cache_read_inside": lambda sch: sch.reindex_cache_read(
        "D", 0, "global", lambda v, w: (w, v)
    ),
    "reindex_cache_read_outside": lambda sch: sch.reindex_cache_read(
        "C", 0, "global", lambda v, w: (w, v)
    ),
    "cache_write": lambda sch: sch.cache_write("B", 0, "global"),
    "reindex_cache_write": lambda sch: sch.reindex_cache_write(
        "B", 0, "global", lambda v, w: (w, v)
    ),
    "reindex": lambda sch: sch.reindex("B", ("write", 0)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_stand_in_the_loops_that_producer_and_consumer_share(name: str) -> None:
    sch = tir.Schedule(shared)
    COPIES[name](sch)
    assert sch.verify()
    again = tir.Schedule(shared)
    sch.trace.apply_to_schedule(again)
    assert ls.structural_equal(again.func, sch.func)


def test_one_copy_serves_the_reader_in_the_loop_and_the_one_behind_it() -> None:
    sch = tir.Schedule(shared)
    sch.cache_read("C", 0, "global")
    lines = [line.strip() for line in sch.func.script().splitlines()]
    first, second = (lines.index(f'with T.block("{name}"):') for name in ("B", "B_global"))
    assert first < second < lines.index('with T.block("D"):')
    assert "D[v, w] = B_global[v, w] * T.float32(2)" in lines
    assert "C[v, w] = B_global[v, w] * T.float32(3)" in lines


def test_the_slice_of_the_shared_loop_is_copied() -> None:
    sch = tir.Schedule(shared)
    sch.reindex_cache_write("B", 0, "global", lambda v, w: (w, v))
    text = sch.func.script()
    assert "for ax0, ax1 in T.grid(1, 16):" in text
    assert "v0 = T.axis.spatial(8, i + ax0)" in text
    assert "B[v0, v1] = B_global[v1, v0]" in text


@pytest.mark.parametrize("name", ["cache_read", "cache_write", "cache_read_inside"])
def test_memory_that_is_written_again_keeps_its_last_value(name: str) -> None:
    sch = tir.Schedule(one_row)
    COPIES[name](sch)
    assert sch.verify()


@T.prim_func
def with_dead(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8, 16))
    D = T.alloc_buffer((8,))
    for i, j in T.grid(8, 16):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] + T.float32(1)
    for i, j in T.grid(8, 16):
        with T.block("D"):
            v, k = T.axis.remap("SR", [i, j])
            with T.init():
                D[v] = T.float32(0)
            D[v] = D[v] + B[v, k]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v, 0]


def test_dead_blocks_are_inlined_away() -> None:
    sch = tir.Schedule(with_dead)
    sch.compute_inline("D")
    assert sch.verify()
    assert "D = " not in sch.func.script()
    sch.compute_inline("B")
    assert "alloc_buffer" not in sch.func.script()
    assert sch.verify()

    parted = tir.Schedule(with_dead)
    parted.decompose_reduction("D", parted.get_loops("D")[1])
    with pytest.raises(ls.ScheduleError):  # What it starts is read by the update.
        parted.compute_inline("D_init")
    parted.compute_inline("D_update")
    assert "D = T.alloc_buffer" in parted.func.script()
    parted.compute_inline("D_init")
    assert "D = T.alloc_buffer" not in parted.func.script()
    assert parted.verify()


def test_blocks_with_effects_and_outputs_are_not_dead() -> None:
    @T.prim_func
    def prints(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]
                T.evaluate(T.call_extern("int32", "note", A[v]))
        for i in range(8):
            with T.block("C"):
                v = T.axis.spatial(8, i)
                C[v] = A[v]

    with pytest.raises(ls.ScheduleError):
        tir.Schedule(prints).compute_inline("B")
    with pytest.raises(ls.ScheduleError, match="block C is an output block"):
        tir.Schedule(prints).compute_inline("C")


def test_stages_are_flattened_to_several_axes() -> None:
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    axes = s[B].transform_layout(lambda i, j: [i // 2, te.AXIS_SEPARATOR, j, i % 2])
    assert len(axes) == 3
    sch = s.to_tir([A, C])
    assert "B = T.alloc_buffer((2, 8, 2), axis_separators=[1])" in sch.func.script()
    assert "sch.set_axis_separator(" in str(sch.trace)
    assert "B = T.decl_buffer((2, 16), axis_separators=[1])" in ls.lower(s, [A, C]).script()
    assert sch.verify()
    assert te.Schedule.from_json(s.as_json()).as_json() == s.as_json()

    s = te.create_schedule(C.op)
    s[B].set_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i])
    assert "B = T.alloc_buffer((8, 4), axis_separators=[1])" in s.to_tir([A, C]).func.script()

    s = te.create_schedule(C.op)
    s[C].set_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i])
    given = np.arange(32, dtype=np.float32).reshape(4, 8)
    got = np.zeros((8, 4), np.float32)
    ls.build(s, [A, C])(given, got)
    assert np.array_equal(got.T, (given + 1) * 2)
