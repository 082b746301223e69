# SPDX-License-Identifier: Apache-2.0
"""Calls of functions of the host that the user has vouched for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T


@T.prim_func
def rows(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    B = T.alloc_buffer((8, 16))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.reads(A[v, 0:16])
            T.writes(B[v, 0:16])
            T.call_packed(
                "next_row",
                A.access_ptr("r", offset=v * 16, extent=16),
                B.access_ptr("w", offset=v * 16, extent=16),
            )
    for i, j in T.grid(8, 16):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = B[v, w] * T.float32(2)


@T.prim_func
def by_address(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    B = T.alloc_buffer((8, 16))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.reads(A[v, 0:16])
            T.writes(B[v, 0:16])
            T.call_extern("int32", "next_row", T.address_of(A[v, 0]), T.address_of(B[v, 0]))
    for i, j in T.grid(8, 16):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = B[v, w] * T.float32(2)


def next_row(a: Any, b: Any) -> None:
    b[:16] = np.asarray(a)[:16] + 1


def runs_right(func: tir.PrimFunc) -> None:
    given = np.arange(128, dtype=np.float32).reshape(8, 16)
    is_compiled = "call_packed" in func.script()
    for target in ("llvm", "c", "interp") if is_compiled else ("interp",):
        got = np.zeros_like(given)
        if target == "interp":
            ls.interp.run(func, given, got, functions={"next_row": next_row})
        else:
            ls.build(func, target, functions={"next_row": next_row})(given, got)
        assert np.array_equal(got, (given + 1) * 2), target


STEPS = {
    "parallel": lambda sch: sch.parallel(sch.get_loops("B")[0]),
    "reorder": lambda sch: sch.reorder(*reversed(sch.split(sch.get_loops("B")[0], [None, 4]))),
    "merge": lambda sch: sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0]),
}


@pytest.mark.parametrize(("block", "name"), [("B", "cache_write"), ("C", "cache_read")])
def test_copies_of_what_a_trusted_call_writes(block: str, name: str) -> None:
    sch = tir.Schedule(by_address)
    with pytest.raises(ls.ScheduleError, match="not known"):
        getattr(sch, name)(block, 0, "global")
    sch = tir.Schedule(by_address, trusted_calls=["next_row"])
    getattr(sch, name)(block, 0, "global")
    runs_right(sch.func)


@pytest.mark.parametrize("func", [by_address, rows])
@pytest.mark.parametrize("scope", ["global", "local"])
@pytest.mark.parametrize("name", ["cache_read", "cache_write"])
def test_copies_of_what_a_trusted_call_reaches(func: tir.PrimFunc, scope: str, name: str) -> None:
    sch = tir.Schedule(func, trusted_calls=["next_row"])
    copy = getattr(sch, name)("B", 0, scope)
    if name == "cache_read":
        sch.compute_at(copy, sch.get_loops("B")[0])
    cache = f"{'A' if name == 'cache_read' else 'B'}_{scope}"
    assert f"{cache}.data" in sch.func.script() or f"T.address_of({cache}[" in sch.func.script()
    runs_right(sch.func)


@pytest.mark.parametrize("name", ["cache_read", "cache_write"])
def test_a_function_that_is_not_trusted_keeps_what_it_reaches(name: str) -> None:
    with pytest.raises(ls.ScheduleError, match=f"{name}: buffer . is reached through its pointer"):
        getattr(tir.Schedule(rows), name)("B", 0, "global")


def test_a_copy_of_another_shape_is_not_reached_by_a_pointer() -> None:
    @T.prim_func
    def tiles(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
        for i in range(8):
            with T.block("row"):
                r = T.axis.spatial(8, i)
                for j in range(2):
                    with T.block("C"):
                        c = T.axis.spatial(2, j)
                        T.reads(A[r, c * 8 : c * 8 + 8])
                        T.writes(C[r, c * 8 : c * 8 + 8])
                        T.call_packed(
                            "half_row",
                            A.access_ptr("r", offset=r * 16 + c * 8, extent=8),
                            C.access_ptr("w", offset=r * 16 + c * 8, extent=8),
                        )

    sch = tir.Schedule(tiles, trusted_calls=["half_row"])
    for name in ("cache_read", "cache_write"):
        with pytest.raises(ls.ScheduleError, match=f"{name}: buffer . is reached through its poin"):
            getattr(sch, name)("C", 0, "global")


@pytest.mark.parametrize("name", STEPS)
def test_only_calls_that_are_named_are_taken_at_their_word(name: str) -> None:
    with pytest.raises(ls.ScheduleError, match=r"unknown|not known"):
        STEPS[name](tir.Schedule(rows))
    sch = tir.Schedule(rows, trusted_calls=["next_row"])
    STEPS[name](sch)
    runs_right(sch.func)


def test_the_trust_is_a_step_of_the_trace_and_stands_in_the_program() -> None:
    sch = tir.Schedule(rows, trusted_calls=["next_row"])
    assert 'sch.trust_calls(names=["next_row"])' in str(sch.trace)
    assert 'T.block_attr({"trusted_calls": ["next_row"]})' in sch.func.script()
    sch.parallel(sch.get_loops("B")[0])
    again = tir.Schedule(rows)
    sch.trace.apply_to_schedule(again)
    ls.assert_same(again.func, sch.func)
    assert sch.verify(functions={"next_row": next_row})


def test_steps_on_several_stages_follow() -> None:
    sch = tir.Schedule(rows, trusted_calls=["next_row"])
    i, j = sch.get_loops("C")
    outer, _ = sch.split(i, [None, 2])
    sch.compute_at("B", outer)
    sch.parallel(outer)
    sch.vectorize(j)
    runs_right(sch.func)


def test_declared_regions_that_overlap_are_a_dependence() -> None:
    @T.prim_func
    def sums(A: T.Buffer((8, 16), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(8):
            with T.block("C"):
                v = T.axis.opaque(8, i)
                T.reads(A[v, 0:16], C[0:16])
                T.writes(C[0:16])
                T.call_packed(
                    "add", A.access_ptr("r", offset=v * 16, extent=16), C.access_ptr("rw")
                )

    sch = tir.Schedule(sums, trusted_calls=["add"])
    with pytest.raises(ls.ScheduleError) as error:
        sch.parallel("i")
    assert "parallel" in str(error.value)


def test_regions_of_symbolic_extents_are_told_apart() -> None:
    @T.prim_func
    def symbolic(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (8, n), "float32")
        B = T.match_buffer(b, (8, n), "float32")
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                T.reads(A[v, 0:n])
                T.writes(B[v, 0:n])
                T.call_extern("int32", "copy", T.address_of(B[v, 0]), T.address_of(A[v, 0]), n)

    sch = tir.Schedule(symbolic, trusted_calls=["copy"])
    sch.parallel("i")


def test_an_operation_of_the_host_may_be_trusted_by_its_attributes() -> None:
    a = te.placeholder((8, 16), name="A")
    b = te.extern(
        (8, 16),
        [a],
        lambda i, o: tir.call_packed("next_row", i[0], o[0]),
        name="B",
        attrs={"trusted_calls": ["next_row"]},
    )
    c = te.compute((8, 16), lambda i, j: b[i, j] * 2, name="C")
    func = te.create_prim_func([a, c])
    assert 'T.block_attr({"trusted_calls": ["next_row"]})' in func.script()
    runs_right(func)


def test_a_function_that_knows_the_layout_keeps_it() -> None:
    for func in (by_address, rows):
        sch = tir.Schedule(func)
        with pytest.raises(ls.ScheduleError, match="buffer B is reached through its pointer"):
            sch.transform_layout("C", ("read", 0), lambda i, j: [j, i])


def test_other_names_are_refused() -> None:
    with pytest.raises(ls.ScheduleError) as error:
        tir.Schedule(rows, trusted_calls=["memcpy"])
    assert error.value.code == "name_is_known"
    assert "trust_calls: no block calls memcpy" in str(error.value)
    assert "name a function of the host" in str(error.value)

    @T.prim_func
    def hidden(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                T.reads()
                T.writes(B[v])
                T.call_extern("int32", "copy", T.address_of(B[v]), T.address_of(A[v]))

    with pytest.raises(ls.ScheduleError) as error:
        tir.Schedule(hidden).trust_calls(["copy"])
    assert error.value.code == "pointers_are_declared"
    assert "trust_calls: block B gives A to copy, and declares no region of it" in str(error.value)
    assert "say in T.reads and T.writes what the function accesses" in str(error.value)
