# SPDX-License-Identifier: Apache-2.0
"""Programs that import tvm and lower: passes, builders, statements, what is lowered for a build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls


def test_a_list_of_lowered_functions_is_one_module(tvm: Any) -> None:
    A = tvm.te.placeholder((8,), name="A")
    built = []
    for name, number in (("one", 1), ("two", 2)):
        B = tvm.te.compute((8,), lambda i, k=number: A[i] + k, name="B")
        built.append(tvm.lower(tvm.te.create_schedule(B.op), [A, B], name=name))
    module = tvm.build(built, "llvm")
    for name, number in (("one", 1), ("two", 2)):
        result = tvm.nd.array(np.zeros(8, "float32"))
        module[name](tvm.nd.array(np.ones(8, "float32")), result)
        np.testing.assert_array_equal(result.numpy(), np.full(8, 1 + number))


def test_bounds_of_a_reduction_that_is_computed_at_another_stage(tvm: Any) -> None:
    te = tvm.te
    A = te.placeholder((64, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * A[j, k], axis=k), name="C")
    schedule = te.create_schedule(C.op)
    local = schedule.cache_write(C, "local")
    outer, _ = schedule[C].split(C.op.axis[0], factor=8)
    schedule[local].compute_at(schedule[C], outer)
    bounds = te.schedule.InferBound(schedule.normalize())
    assert [int(bounds[axis].extent) for axis in local.op.axis] == [8, 64]


def test_passes_of_programs_that_are_written_by_builders(tvm: Any) -> None:
    builder = tvm.tir.ir_builder.create()
    out = builder.pointer("float32", name="out")
    n, scale = tvm.te.size_var("n"), tvm.te.size_var("scale", dtype="float32")
    with builder.for_range(0, 6, "i") as i:
        with builder.for_range(0, 4, "j") as j:
            with builder.if_scope(builder.likely(i * 4 + j < 20)):
                out[i * 4 + j] = scale
    module = tvm.IRModule.from_expr(tvm.tir.PrimFunc([out, n, scale], builder.get()))
    option = {"tir.LoopPartition": {"partition_const_loop": True}}
    with tvm.transform.PassContext(config=option):
        module = tvm.tir.transform.Simplify()(tvm.tir.transform.LoopPartition()(module))
    assert "if " not in str(module["main"])
    with pytest.raises(
        AttributeError, match=r"config\['tir.LoopPartition'\]\['hint'\] is not prov"
    ):
        tvm.transform.PassContext(config={"tir.LoopPartition": {"hint": 1}})


def test_options_of_passes_that_are_off(tvm: Any) -> None:
    T = tvm.script.tir

    @T.prim_func
    def func(A: T.Buffer((16,), "int32")):
        for i in T.serial(1):
            A[i * 2] = 3
        for i in T.serial(16):
            for j in T.serial(i - 20):
                A[i] = A[i] + j

    module = tvm.IRModule.from_expr(func)
    off = {"use_dataflow_analysis": False, "max_simplification_steps": 0}
    short = {"auto_max_extent": 1, "explicit_unroll": True}
    config = {"tir.RemoveNoOp": off, "tir.UnrollLoop": short}
    with tvm.transform.PassContext(config=config):
        done = tvm.tir.transform.UnrollLoop()(tvm.tir.transform.RemoveNoOp()(module))
    # What never runs goes, and so does a loop of one iteration.
    assert isinstance(done["func"].body, tvm.tir.BufferStore)
    with pytest.raises(AttributeError, match="'use_dataflow_analysis'"):
        tvm.transform.PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}})
    tvm.tir.transform.CompactBufferAllocation(is_strict=True)


def test_inits_of_blocks_are_lowered_where_they_begin(tvm: Any) -> None:
    T = tvm.script.tir

    @T.prim_func
    def func(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        for i0 in T.serial(4):
            for k0 in T.serial(2, 8):
                with T.block("B"):
                    i, k = T.axis.remap("SR", [i0, k0])
                    with T.init():
                        B[i] = T.float32(0)
                    B[i] += A[i, k]

    lowered = tvm.tir.transform.LowerInitBlock()(tvm.IRModule({"f": func}))
    assert "if k == 2:" in lowered["f"].script()
    ls.assert_same(lowered["f"], func)


def test_the_statement_of_a_schedule_is_loops(tvm: Any) -> None:
    te = tvm.te
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    schedule = te.create_schedule(B.op)
    loops = te.schedule.ScheduleOps(schedule, te.schedule.InferBound(schedule))
    assert isinstance(loops, tvm.tir.For) and isinstance(loops.body, tvm.tir.BufferStore)


def test_a_schedule_without_its_results_among_the_arguments_is_shown(tvm: Any) -> None:
    te = tvm.te
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    schedule = te.create_schedule(B.op)
    assert "B[i] =" in str(tvm.lower(schedule, [A], simple_mode=True))
    with pytest.raises(ls.UserError, match="no argument is a result"):
        tvm.build(schedule, [A], "llvm")


def test_words_of_builders_for_combinations_and_pointers(tvm: Any) -> None:
    from tvm.script.ir_builder import IRBuilder
    from tvm.script.ir_builder import tir as T

    combine = T.comm_reducer(lambda x, y: x + y, identity=[T.float32(0)])
    assert str(combine) == "T.comm_reducer(lambda x, y: x + y, [T.float32(0)])"
    both = T.comm_reducer(
        lambda a, b, c, d: (a + c, tvm.tir.max(b, d)), [T.float32(0), T.min_value("int32")]
    )
    assert len(both.identity_element) == 2
    with IRBuilder() as builder:
        with T.decl_buffer((10, 10), data=T.ptr("float32")):
            T.evaluate(0)
    assert "T.decl_buffer((10, 10)" in builder.get().script()
    held = tvm.tir.ir_builder.create()
    memory = held.allocate("float32", 8, "memory")
    assert memory.asobject().access_ptr("r").dtype == "handle"
    assert tvm.tir.decl_buffer((8,), data=memory.asobject()).data.same_as(memory.data)


def test_estimates_of_functions_come_first(tvm: Any) -> None:
    T = tvm.script.tir

    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        T.func_attr({"estimated_flops": 32})
        for i in range(16):
            A[i] = A[i] + 1.0

    assert tvm.tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func})) == 32
    bare = func.without_attr("estimated_flops")
    assert tvm.tir.analysis.estimate_tir_flops(tvm.IRModule({"main": bare})) == 16


def test_programs_are_built_without_assertions_and_with_checks(tvm: Any) -> None:
    T = tvm.script.tir

    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), at: T.int32):
        T.func_attr({"tir.noalias": True})
        assert at < 2, "at is small"
        A[at] = 7

    array = np.zeros(4, "int32")
    with pytest.raises(ls.UserError, match="at is small"):
        tvm.tir.build(func)(array, 3)
    with tvm.transform.PassContext(config={"tirx.disable_assert": True, "tirx.noalias": False}):
        tvm.tir.build(func)(array, 3)
    assert array[3] == 7
    options = {"tir.disable_assert": True, "tir.instrument_bound_checkers": True}
    with tvm.transform.PassContext(config=options), pytest.raises(ls.UserError):
        tvm.tir.build(func)(array, 4)
    assert tvm.ir.Op.get("tirx.call_extern") == tvm.ir.Op.get("tir.call_extern")
