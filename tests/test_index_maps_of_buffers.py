# SPDX-License-Identifier: Apache-2.0
"""Index maps of any number of indices, of buffers without elements, and that count backwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812

Steps = Callable[[tir.Schedule], object]


@T.prim_func
def stages(A: T.Buffer((8, 6), "int32"), C: T.Buffer((8, 6), "int32")) -> None:
    B = T.alloc_buffer((8, 6), "int32")
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(8, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + vi * 10 + vj


@T.prim_func
def nothing(A: T.Buffer((0, 6), "int32"), C: T.Buffer((0, 6), "int32")) -> None:
    B = T.alloc_buffer((0, 6), "int32")
    for i, j in T.grid(0, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(0, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + vi * 10 + vj


MAPS: dict[str, Callable[..., object]] = {
    "reversed": lambda *a: a[::-1],
    "rest": lambda i, *rest: (*rest, i),
    "backwards": lambda i, j: (7 - i, j),
    "both": lambda i, j: (5 - j, 7 - i),
    "flat": lambda i, j: ((7 - i) * 6 + j,),
    "tiles": lambda i, j: (i // 4, j // 3, i % 4, j % 3),
}
PRIMITIVES: dict[str, Callable[[tir.Schedule, Callable[..., object]], object]] = {
    "transform_layout": lambda sch, m: sch.transform_layout("B", ("write", 0), m),
    "by_name": lambda sch, m: sch.transform_layout("C", "B", index_map=m),
    "transform_block_layout": lambda sch, m: sch.transform_block_layout("B", m),
    "reindex_cache_read": lambda sch, m: sch.reindex_cache_read("C", 0, "local", m),
    "reindex_cache_write": lambda sch, m: sch.reindex_cache_write("B", 0, "local", index_map=m),
}


@pytest.mark.parametrize("index_map", MAPS)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_maps_keep_the_result(primitive: str, index_map: str) -> None:
    sch = tir.Schedule(stages)
    PRIMITIVES[primitive](sch, MAPS[index_map])
    assert sch.verify().answer == "same"
    replayed = tir.Schedule(stages)
    sch.trace.apply_to_schedule(replayed)
    ls.assert_structural_equal(sch.func, replayed.func)


@pytest.mark.parametrize("index_map", ["reversed", "rest", "tiles", "flat"])
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_a_schedule_holds_at_size_0(primitive: str, index_map: str) -> None:
    maps = {**MAPS, "flat": lambda i, j: (i * 6 + j,)}
    sch = tir.Schedule(nothing)
    PRIMITIVES[primitive](sch, maps[index_map])
    assert sch.verify().answer == "same"
    ls.build(sch.func)


def test_a_parameter_without_elements_keeps_none() -> None:
    sch = tir.Schedule(nothing)
    sch.transform_layout("C", ("write", 0), lambda i, j: (j, i))
    assert [int(extent) for extent in sch.func.buffer_map[sch.func.params[1]].shape] == [6, 0]


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_maps_that_join_elements_are_refused(primitive: str) -> None:
    sch = tir.Schedule(stages)
    with pytest.raises(ls.ScheduleError):
        PRIMITIVES[primitive](sch, lambda i, j: (i + j,))


def test_what_is_wrong_with_other_arguments_is_said_first() -> None:
    sch = tir.Schedule(stages)
    with pytest.raises(ls.ScheduleError, match="no blocks are called D"):
        sch.transform_layout("D", ("write", 0), lambda *a: a[::-1])
    with pytest.raises(ls.ScheduleError) as caught:
        sch.transform_layout("B", ("write", 3), lambda *a: a[::-1])
    assert caught.value.code == "block_has_the_buffer"
    assert sch.can_apply("transform_block_layout", "B", lambda *a: a[::-1])
