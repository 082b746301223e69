# SPDX-License-Identifier: Apache-2.0
"""Schedules as programs that import tvm look into them."""

from __future__ import annotations

from typing import Any

import pytest


def two_steps() -> Any:
    from tvm.script import tir as T

    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] + T.float32(1)

    return main.with_attr("global_symbol", "twice")


def test_a_function_is_scheduled_as_main(tvm: Any) -> None:
    sch = tvm.tir.Schedule(two_steps())
    assert [name.name_hint for name in sch.mod.names] == ["main"]
    assert sch.mod["main"].attrs["global_symbol"] == "twice"
    assert isinstance(sch, tvm.tir.Schedule)
    sch.work_on("main")
    assert sch.func_working_on.name_hint == "main"
    both = tvm.tir.Schedule(tvm.IRModule({"one": two_steps(), "two": two_steps()}))
    with pytest.raises(ValueError, match=r"does not know which function.*one, two"):
        both.get_block("B")
    assert both.get(both.get_block("B", func_name="two")).name_hint == "B"


def test_programs_are_equal_however_indices_are_written(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def nested(A: T.Buffer((24,), "int32")):
        for i, j, k in T.grid(3, 3, 4):
            with T.block("A"):
                v = T.axis.spatial(24, (i * 3 + j) * 4 + k)
                T.where((i * 3 + j) * 4 + k < 24)
                A[v] = v

    @T.prim_func
    def flat(A: T.Buffer((24,), "int32")):
        for i, j, k in T.grid(3, 3, 4):
            with T.block("A"):
                v = T.axis.spatial(24, i * 12 + j * 4 + k)
                T.where(i * 12 + j * 4 + k < 24)
                A[v] = v

    assert not tvm.ir.structural_equal(nested, flat)
    tvm.ir.assert_structural_equal(nested, flat)
    other = tvm.tir.Schedule(flat)
    other.reorder(*reversed(other.get_loops("A")))
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        tvm.ir.assert_structural_equal(nested, other.mod["main"])


def test_places_of_a_schedule(tvm: Any) -> None:
    from tvm.tir.schedule import DepKind

    sch = tvm.tir.Schedule(two_steps(), debug_mask="all")
    block = sch.get_block("C")
    place = sch.get_sref(block)
    assert place.stmt.same_as(sch.get(block))
    assert sch.state.get_sref(place.stmt).same_as(place)
    assert place.parent.stmt.same_as(sch.get(sch.get_loops(block)[0]))
    assert place.parent.parent.stmt.name_hint == "root"
    scope = sch.state.get_block_scope(sch.get_sref(sch.get_block("root")))
    (dependence,) = scope.get_deps_by_dst(place)
    assert dependence.src.stmt.name_hint == "B"
    assert dependence.kind == DepKind.RAW
    other = sch.copy()
    (outer, _) = sch.split(sch.get_loops("B")[0], [None, 4])
    with pytest.raises(IndexError):
        other.get_sref(outer)
    sch.remove_rv(block)
    with pytest.raises(IndexError, match="removed"):
        sch.get(block)
    state = tvm.tir.ScheduleState(two_steps())
    assert state.get_sref(tvm.tir.Evaluate(0)) is None


def test_traces_are_made_by_hand(tvm: Any) -> None:
    from tvm.tir.schedule import BlockRV, Instruction, InstructionKind, LoopRV, Trace

    def step(kind: str, inputs: Any, attrs: Any, outputs: Any) -> Any:
        return Instruction(InstructionKind.get(kind), inputs, attrs, outputs)

    block, other, loop, outer, inner = BlockRV(), BlockRV(), LoopRV(), LoopRV(), LoopRV()
    trace = Trace(
        [
            step("GetBlock", [], ["B", "main"], [other]),
            step("GetBlock", [], ["C", "main"], [block]),
            step("GetLoops", [block], [], [loop]),
            step("Split", [loop, None, tvm.tir.const(4)], [True, False], [outer, inner]),
            step("EnterPostproc", [], [], []),
            step("ComputeInline", [other], [], []),
        ],
        {},
    )
    assert trace.as_python()[3] == (
        "l3, l4 = sch.split(loop=l2, factors=[None, 4], preserve_unit_iters=True, "
        "disable_predication=False)"
    )
    sch = tvm.tir.Schedule(two_steps())
    trace.apply_to_schedule(sch, remove_postproc=True)
    assert [int(sch.get(each).extent) for each in sch.get_loops("C")] == [4, 4]
    again = tvm.tir.Schedule(two_steps())
    Trace.apply_json_to_schedule(trace.as_json(), again)
    assert len(again.get_child_blocks(again.get_block("root"))) == 1
    short = trace.simplified(remove_postproc=True)
    assert [inst.kind.name for inst in short.insts] == ["GetBlock", "GetLoops", "Split"]
    assert trace.pop().kind.name == "ComputeInline"
    assert str(Trace([], {})).endswith("  pass")
    assert str(step("GetLoops", [block], [], [loop])) == "_, = sch.get_loops(block=_)"
    with pytest.raises(ValueError, match="no kind of steps 'Nothing'"):
        InstructionKind.get("Nothing")


def test_layouts_with_separators_are_carried_out(tvm: Any) -> None:
    sch = tvm.tir.Schedule(two_steps())
    separator = tvm.tir.IndexMap.AXIS_SEPARATOR
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, separator, i % 4])
    buffer = sch.get(sch.get_block("B")).writes[0].buffer
    assert [int(extent) for extent in buffer.shape] == [4, 4]
    assert list(buffer.axis_separators) == [1]


def test_stages_remember_what_was_done(tvm: Any) -> None:
    from tvm import te

    A = te.placeholder((100, 64), name="A")
    B = te.compute((100, 64), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((100, 64), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=10)
    s[C].pragma(outer, "unroll")
    fused = s[C].fuse(inner, C.op.axis[1])
    s[B].compute_at(s[C], outer)
    split, fuse = s[C].relations
    assert isinstance(split, te.schedule.Split)
    assert split.inner == inner
    assert isinstance(fuse, te.schedule.Fuse)
    assert fuse.fused == fused
    assert s[C].iter_var_attrs[outer].iter_type == te.schedule.IterVar.Unrolled
    bounds = te.schedule.InferBound(s)
    assert int(bounds[outer].extent) == 10
    assert int(bounds[B.op.axis[0]].extent) == 10
    assert isinstance(te.schedule.ScheduleOps(s, bounds), tvm.tir.Stmt)
    from tvm.driver.build_module import schedule_to_module

    assert schedule_to_module(s, [A, C], "name")["name"].attrs["global_symbol"] == "name"


_STAGES = """
@T.prim_func
def main(A: T.Buffer((128, 128)), C: T.Buffer((128, 128))):
    B = T.alloc_buffer((128, 128))
    for i, j in T.grid(ROWS, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(128, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""


def test_blocks_have_flags(tvm: Any) -> None:
    def flags(rows: int, name: str) -> Any:
        func = tvm.script.from_source(_STAGES.replace("ROWS", str(rows)))
        sch = tvm.tir.Schedule(func)
        return sch.state._get_cached_flags(sch.get_sref(sch.get_block(name)))

    for name in ("root", "B", "C"):
        assert flags(128, name) == (True, True, True)
    # The first half of B is written, all of it is read.
    assert flags(64, "C") == (True, False, True)
    assert flags(64, "root") == (True, True, False)
    sch = tvm.tir.Schedule(tvm.script.from_source(_STAGES.replace("ROWS", "128")))
    outer, _ = sch.get_loops("B")
    sch.split(outer, [None, 16])
    sch.compute_at("B", sch.get_loops("C")[0])
    for name in ("root", "B", "C"):
        assert sch.state._get_cached_flags(sch.get_sref(sch.get_block(name))).region_cover


def test_statements_of_a_state_are_replaced(tvm: Any) -> None:
    from tvm import tir

    state = tir.ScheduleState(tvm.script.from_source(_STAGES.replace("ROWS", "128")))
    block = state.mod["main"].body.block
    first, second = block.body
    root, outer, inner = (state.get_sref(each) for each in (block, first, first.body))
    state.replace(outer, tir.For(first.loop_var, 0, 128, tir.ForKind.PARALLEL, first.body))
    assert outer.stmt.kind == tir.ForKind.PARALLEL
    assert root.stmt.same_as(state.mod["main"].body.block)
    assert inner.stmt.same_as(outer.stmt.body)
    assert inner.parent == outer
    last = state.get_sref(second)
    loop = tir.For(tir.Var("n", "int32"), 0, 4, tir.ForKind.SERIAL, tir.Evaluate(0))
    state.replace(last, loop)
    assert last.stmt is None
    assert "for n in range(4)" in state.mod.script()
    with pytest.raises(tir.ScheduleError, match="a block can only stand for a block"):
        state.replace(root, loop)
    sch = tir.Schedule(state.mod)
    with pytest.raises(AttributeError, match="a schedule changes by its steps alone"):
        sch.state.replace(root, block)


def test_graphs_are_read_in_order(tvm: Any) -> None:
    te = tvm.te
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i] * 2, name="C")
    D = te.compute((n,), lambda i: C[i] * 2, name="D")
    graph = te.schedule.CreateReadGraph([D.op])
    assert te.schedule.PostDFSOrder([D.op], graph) == [A.op, B.op, C.op, D.op]
    assert graph[C.op] == [B]

    def kept(inline: Any) -> list[str]:
        sch = te.create_schedule(D.op)
        assert sch.stage_map[B.op].op == B.op
        inline(sch)
        text = str(tvm.lower(sch, [A, D], simple_mode=True))
        return [name for name in ("B", "C") if f"{name}[" in text]

    assert kept(lambda sch: None) == ["B", "C"]
    # C is read at the same place, B at another one by C, itself computed of A at the same place.
    assert kept(te.schedule.AutoInlineElemWise) == ["C"]
    assert kept(te.schedule.AutoInlineInjective) == []


def test_ranges_of_accesses_are_pairs(tvm: Any) -> None:
    for ranges in (
        lambda i, j: ((i, i + 1), (0, 128)),
        lambda i, j: [tvm.ir.Range(i, i + 1), tvm.ir.Range(0, 128)],
        lambda i, j: [i, i + 1, 0, 128],
    ):
        sch = tvm.tir.Schedule(tvm.script.from_source(_STAGES.replace("ROWS", "128")))
        sch.annotate_buffer_access(sch.get_block("B"), 0, "read", ranges)
        assert "T.reads(A[vi, 0:128])" in sch.mod.script()


def test_traces_of_schedules_are_made_again(tvm: Any) -> None:
    from tvm.tir.schedule import Trace

    func = tvm.script.from_source(_STAGES.replace("ROWS", "128"))
    sch = tvm.tir.Schedule(func, seed=3)
    outer, _ = sch.get_loops(sch.get_block("B"))
    sch.split(outer, sch.sample_perfect_tile(outer, n=2))
    again = Trace(sch.trace.insts, sch.trace.decisions)
    assert again.as_python() == sch.trace.as_python()
    for replay in (
        lambda other: again.apply_to_schedule(other, remove_postproc=False),
        lambda other: Trace.apply_json_to_schedule(sch.trace.as_json(), other),
    ):
        other = tvm.tir.Schedule(func)
        replay(other)
        tvm.ir.assert_structural_equal(other.mod, sch.mod)


def test_index_maps_are_inverted_on_shapes(tvm: Any) -> None:
    index_map = tvm.tir.IndexMap.from_func(lambda i, j: [i * 4 + j], index_dtype="int32")
    inverse = index_map.inverse([4, 4])
    assert inverse.is_equivalent_to(index_map.inverse([tvm.ir.Range(0, 4)] * 2))
    assert [int(each) for each in inverse.map_indices([7])] == [1, 3]
    _, padding = index_map.non_surjective_inverse([4, 4])
    assert not bool(padding)


def blurred(tvm: Any) -> Any:
    """Return a schedule in which rows are computed where a tile needs them, and its tensors."""
    te = tvm.te
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 16), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((14, 16), lambda i, j: B[i, j] + B[i + 2, j], name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=2)
    s[B].compute_at(s[C], outer)
    return s, A, B, C, outer


def test_bounds_say_what_is_computed_at_once_and_from_where(tvm: Any) -> None:
    s, _A, B, C, outer = blurred(tvm)
    bounds = tvm.te.schedule.InferBound(s)
    rows, columns = bounds[B.op.axis[0]], bounds[B.op.axis[1]]
    tvm.testing.assert_prim_expr_equal(rows.min, outer.var * 2)
    assert (rows.extent.value, columns.min.value, columns.extent.value) == (4, 0, 16)
    assert bounds[C.op.axis[1]].extent.value == 16
    (path,) = [each for op, each in tvm.te.schedule.CreateAttachPath(s).items() if op == B.op]
    assert path == [outer]
    (own,) = [each for op, each in tvm.te.schedule.CreateAttachPath(s).items() if op == C.op]
    assert own == []


def test_schedules_of_tensors_are_saved_with_what_they_are_about(tvm: Any) -> None:
    s, _A, _B, C, _outer = blurred(tvm)
    again = tvm.ir.load_json(tvm.ir.save_json(s))
    assert isinstance(again, tvm.te.schedule.Schedule)
    assert str(again.outputs[0].body) == str(C.op.body)


def test_lists_and_maps_are_saved_with_the_nodes_they_share(tvm: Any) -> None:
    x = tvm.te.var("x")
    again = tvm.ir.load_json(tvm.ir.save_json([x, {"twice": x * 2, "names": ["a"]}, 3]))
    assert again[1]["twice"].a.same_as(again[0])
    assert again[1]["names"] == ["a"] and again[2] == 3
    (key,) = tvm.ir.load_json(tvm.ir.save_json({x: 1}))
    assert key.name == "x"


def test_the_steps_of_a_scan_are_found(tvm: Any) -> None:
    te = tvm.te
    X = te.placeholder((4, 8), name="X")
    state = te.placeholder((4, 8), name="state")
    init = te.compute((1, 8), lambda _, j: X[0, j], name="init")
    twice = te.compute((4, 8), lambda t, j: state[t - 1, j] * 2, name="twice")
    update = te.compute((4, 8), lambda t, j: twice[t, j] + X[t, j], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    assert tvm.te.schedule.ScanGetBody(scan.op) == [twice.op, update.op]


def test_axes_have_the_kinds_that_stages_give_them(tvm: Any) -> None:
    s, _A, B, _C, _outer = blurred(tvm)
    s[B].vectorize(B.op.axis[1])
    kind = s[B].iter_var_attrs[B.op.axis[1]].iter_type
    assert kind == tvm.tir.IterVar.Vectorized == tvm.te.schedule.IterVar.Vectorized


def test_layouts_of_stages_mark_axes_of_flattened_buffers(tvm: Any) -> None:
    s, A, B, C, _outer = blurred(tvm)
    s = tvm.te.create_schedule(C.op)
    s[B].transform_layout(lambda i, j: [i, tvm.te.AXIS_SEPARATOR, j])
    assert "axis_separators=[1]" in tvm.lower(s, [A, C]).script()


def test_a_trace_that_uses_what_was_drawn_is_read_back(tvm: Any) -> None:
    sch, again = (tvm.tir.Schedule(two_steps()) for _ in range(2))
    drawn = sch.sample_categorical([0, 16], [0.5, 0.5])
    sch.annotate(sch.get_block("B"), "unroll", drawn)
    tvm.tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    tvm.ir.assert_structural_equal(sch.mod, again.mod)
