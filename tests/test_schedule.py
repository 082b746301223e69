# SPDX-License-Identifier: Apache-2.0
"""Schedules as a user of Python sees them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def matmul(n: int = 64) -> tir.PrimFunc:
    a = te.placeholder((n, n), "float32", name="A")
    b = te.placeholder((n, n), "float32", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def scheduled(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func, debug_mask="all")
    i, _, k = sch.get_loops(sch.get_block("C"))
    io, ii = sch.split(i, factors=[None, 14], names=["io", "ii"])
    jo, ji = sch.split("j => jo, ji", factors=[None, 16])
    sch.reorder(io, jo, k, ii, ji)
    sch.vectorize(ji)
    sch.parallel(io)
    return sch


def test_a_scheduled_function_is_built_as_it_is_scheduled():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 64, 64), dtype=np.float32)
    c = np.zeros((64, 64), np.float32)
    sch = scheduled(matmul())
    ls.build(sch)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert sch.verify()


def test_a_trace_is_python_that_runs():
    func = matmul()
    sch = scheduled(func)
    space: dict[str, object] = {}
    exec(str(sch.trace), {"ls": ls, "tir": tir}, space)
    again = tir.Schedule(func)
    space["apply_trace"](again)  # type: ignore[operator]
    assert ls.structural_equal(again.mod, sch.mod)


def test_a_trace_goes_through_json_to_another_size():
    sch = scheduled(matmul())
    other = tir.Schedule(matmul(96))
    tir.Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), other)
    assert [loop.name for loop in other.get_loops("C")] == ["io", "jo", "k", "ii", "ji"]
    assert other.verify()


def test_index_maps_of_a_trace_use_the_variables_of_what_it_is_replayed_on():
    text = """@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, 4))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""
    func = ls.from_source(text)
    sch = tir.Schedule(func)
    sch.annotate_buffer_access("B", 0, "read", lambda i, j: (0, func.params[2], 0, 4))
    space: dict[str, Any] = {}
    exec(str(sch.trace), {"ls": ls, "tir": tir}, space)
    for to in (func, ls.from_source(text)):
        for replay in (
            space["apply_trace"],
            sch.trace.apply_to_schedule,
            lambda other: tir.Trace.apply_json_to_schedule(sch.trace.as_json(), other),
        ):
            other = tir.Schedule(to)
            replay(other)
            assert ls.structural_equal(other.mod, sch.mod)
    unknown = te.size_var("m")
    with pytest.raises(
        ls.ScheduleError, match="an index map uses m, which the function does not have"
    ):
        sch.annotate_buffer_access("B", 0, "read", lambda i, j: (0, unknown, 0, 4))
    sch.annotate_buffer_access("B", 0, "read", lambda i, j: (0, te.size_var("n"), 0, 4))
    assert sch.verify()


def test_loops_are_found_by_name_and_show_themselves():
    sch = scheduled(matmul())
    assert sch.get_axis(name="io") == sch.get_loop("io")
    assert [loop.name for loop in sch.get_loops("C", "j*")] == ["jo", "ji"]
    assert str(sch.get_loop("ji")).startswith("for ji in T.vectorized(16):")


def test_a_consumed_loop_says_what_it_became():
    sch = tir.Schedule(matmul())
    i, _, _ = sch.get_loops("C")
    sch.split(i, [None, 4], names=["io", "ii"])
    with pytest.raises(ls.ScheduleError, match="loop i was split at step 3 into io, ii"):
        sch.unroll(i)
    assert str(i) == "loop i was split at step 3 into io, ii"


def test_a_refusal_carries_its_parts():
    sch = tir.Schedule(matmul())
    i, _, _ = sch.get_loops("C")
    with pytest.raises(ValueError, match="factor 1 of loop i is 0, not positive") as caught:
        sch.split(i, factors=[None, 0])
    error = caught.value
    assert isinstance(error, ls.ScheduleError)
    assert error.to_dict()["code"] == "number_is_in_range"
    assert error.primitive == "split"
    assert list(error.subjects) == ["1", "i", "0"]
    assert len(sch.trace) == 2
    assert "^^^" in str(error)


def test_can_apply_says_so_and_changes_nothing():
    sch = tir.Schedule(matmul())
    i, _, k = sch.get_loops("C")
    assert sch.can_apply("parallel", i)
    assert sch.can_apply("parallel", k)  # In parts.
    assert not sch.can_apply("bind", k, "blockIdx.x")
    assert not sch.can_apply("split", i, factors=[None, 0])
    assert len(sch.trace) == 2


def test_wrong_arguments_are_type_errors():
    sch = tir.Schedule(matmul())
    i, _, _ = sch.get_loops("C")
    with pytest.raises(TypeError, match="split: the argument factors is missing"):
        sch.split(i)
    with pytest.raises(TypeError, match="split: there is no argument factor"):
        sch.split(i, factor=[None, 4])
    with pytest.raises(TypeError, match="the argument loop is a object"):
        sch.split(object(), [None, 4])
    with pytest.raises(TypeError, match="the argument loop is given twice"):
        sch.split(i, [None, 4], loop=i)
    with pytest.raises(ls.ScheduleError, match="can_apply: there is no primitive cut"):
        sch.can_apply("cut", i)


def test_steps_are_told_and_undone():
    func = matmul()
    sch = tir.Schedule(func)
    i, _, _ = sch.get_loops("C")
    sch.split(i, [None, 4], names=["io", "ii"])
    last = sch.history()[-1]
    assert last.number == 3
    assert "+        for io, ii, j, k in T.grid(16, 4, 64, 64):" in last.difference
    sch.undo()
    assert ls.structural_equal(sch.func, func)
    sch.unroll(i)


def test_copies_go_their_own_way():
    sch = tir.Schedule(matmul())
    i, _, _ = sch.get_loops("C")
    other = sch.copy()
    parts = other.split(i, [None, 4])
    sch.split(i, [None, 8])
    with pytest.raises(ls.ScheduleError, match="of another schedule"):
        sch.unroll(parts[0])


def test_loops_that_are_left_early_stay_loops_when_unrolled():
    func = ls.from_source(
        """
@T.prim_func
def first_run(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        if A[i] < T.float32(0):
            break
        if A[i] > T.float32(3):
            continue
        B[i] = A[i]
"""
    )
    sch = tir.Schedule(func)
    sch.unroll(sch.get_loop("i"))
    values = np.array([1, 5, 2, 3, 9, -1, 2, 3], dtype="float32")
    result = np.zeros(8, dtype="float32")
    ls.build(sch)(values, result)
    np.testing.assert_array_equal(result, [1, 0, 2, 3, 0, 0, 0, 0])


def test_choices_are_kept_and_changed():
    func = matmul()
    sch = tir.Schedule(func, seed=3)
    i, _, _ = sch.get_loops("C")
    tile = sch.sample_perfect_tile(i, n=2)
    assert int(tile[0]) * sch.get(tile[1]) == 64
    sch.split(i, tile)
    trace = sch.trace.with_decision(2, [16, 4])
    other = tir.Schedule(func)
    trace.apply_to_schedule(other)
    assert [other.get(loop).extent.value for loop in other.get_loops("C")] == [16, 4, 64, 64]
    assert trace.get_decision(2) == [16, 4]


def test_a_seed_repeats_what_is_sampled():
    def drawn(seed: int) -> tuple[str, int]:
        sch = tir.Schedule(matmul())
        sch.seed(seed)
        for loop in sch.get_loops("C"):
            sch.sample_perfect_tile(loop, n=4)
        return str(sch.trace), sch.fork_seed()

    assert drawn(7) == drawn(7)
    assert drawn(7)[0] != drawn(8)[0] and drawn(7)[1] != drawn(8)[1]


def test_errors_tell_as_much_as_is_wanted():
    texts = []
    for level in ("detail", "fast", "none"):
        sch = tir.Schedule(matmul(), error_render_level=level)
        with pytest.raises(ls.ScheduleError) as caught:
            sch.split("i", [None, 0])
        texts.append(str(caught.value))
        assert caught.value.code == "number_is_in_range"
    assert texts[0].startswith(texts[1] + "\n  hint: pass 1 or more")
    assert texts[1:] == ["split: factor 1 of loop i is 0, not positive", "(not rendered)"]


def test_arguments_of_a_schedule_are_checked():
    with pytest.raises(ValueError, match="the debug_mask is some"):
        tir.Schedule(matmul(), debug_mask="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the debug_mask is -2"):
        tir.Schedule(matmul(), debug_mask=-2)
    with pytest.raises(ValueError, match="the error_render_level is loud"):
        tir.Schedule(matmul(), error_render_level="loud")  # type: ignore[arg-type]
    tir.Schedule(matmul(), debug_mask=3)


def test_a_replay_may_decide_anew():
    sch = tir.Schedule(matmul(), seed=3)
    i, _, _ = sch.get_loops("C")
    sch.split(i, sch.sample_perfect_tile(i, n=2))
    asked = []

    def decide(inst, inputs, attrs, decision):
        asked.append((inst.kind, [loop.name for loop in inputs], attrs, len(decision)))
        return [8, 8]

    other = tir.Schedule(matmul())
    sch.trace.apply_to_schedule(other, decision_provider=decide)
    assert asked == [("sample_perfect_tile", ["i"], [2, 16], 2)]
    assert [other.get(loop).extent.value for loop in other.get_loops("C")] == [8, 8, 64, 64]


def test_a_trace_is_made_of_instructions():
    sch = tir.Schedule(matmul(), seed=3)
    i, _, _ = sch.get_loops("C")
    tile = sch.sample_perfect_tile(i, n=2, decision=[16, 4])
    sch.split(i, tile)
    trace = sch.trace
    lookup, loops, choice, split = trace.insts
    assert [inst.kind for inst in trace.insts] == [
        "get_block",
        "get_loops",
        "sample_perfect_tile",
        "split",
    ]
    assert loops.is_pure and not split.is_pure
    assert lookup.attrs == ["C", "main"]
    assert len(loops.outputs) == 3
    assert trace.decisions == {choice: [16, 4]}
    assert trace.get_decision(choice) == trace.get_decision(2) == [16, 4]
    assert choice != split and choice != None  # noqa: E711
    last = trace.pop()
    assert last == split and len(trace) == 3
    trace.append(last)
    changed = tir.Trace(trace.insts, {choice: [2, 32]})
    other = tir.Schedule(matmul())
    changed.apply_to_schedule(other)
    assert [other.get(loop).extent.value for loop in other.get_loops("C")][:2] == [2, 32]
    with pytest.raises(ls.ScheduleError, match="handle is of a trace"):
        _ = loops.outputs[0].name
    assert [repr(handle) for handle in loops.outputs] == ["LoopRV(1)", "LoopRV(2)", "LoopRV(3)"]
    assert str(choice.outputs[0]) == "ExprRV(0)"
    with pytest.raises(ls.ScheduleError, match="append: split decides nothing"):
        trace.append(split, [1])
    with pytest.raises(IndexError, match="trace: there is no step 9, there are 4"):
        trace.get_decision(9)


def test_handles_are_compared_with_anything():
    sch = tir.Schedule(matmul())
    loop = sch.get_loop("i")
    assert loop == sch.get_loop("i")
    assert loop != None and loop != "i"  # noqa: E711


def test_names_of_loops_stand_for_them_where_a_block_would_do():
    sch = tir.Schedule(matmul())
    sch.annotate("i", "note", 1)
    assert dict(sch.get(sch.get_loop("i")).annotations) == {"note": 1}


def test_reductions_keep_their_order_when_asked_to():
    sch = tir.Schedule(matmul(), allow_reassociation=False)
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(k, factors=[None, 4])
    sch.reorder(outer, i, j, inner)
    copy = sch.copy()
    for step in (lambda: copy.vectorize(inner), lambda: sch.reorder(inner, outer)):
        with pytest.raises(
            ls.ScheduleError, match="reduction C would combine its elements in another order"
        ):
            step()
    assert "reorders a reduction" not in str(sch.trace)
    free = tir.Schedule(matmul())
    free.vectorize("k")
    assert "# reorders a reduction" in str(free.trace)
    exec(str(free.trace), names := {})
    names["apply_trace"](again := tir.Schedule(matmul()))
    assert ls.structural_equal(again.mod, free.mod)


def test_what_a_schedule_does_not_have_is_said():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    with pytest.raises(ls.ScheduleError, match="get_sref: a schedule has no srefs") as error:
        sch.get_sref(block)
    assert error.value.code == "schedule_has_no_srefs"
    assert error.value.hint == "use get(rv), which gives the For or Block"
    with pytest.raises(ls.ScheduleError, match="remove_rv: a schedule has no srefs"):
        sch.remove_rv(block)
    with pytest.raises(AttributeError, match=r"state: a schedule has no srefs .* use mod"):
        _ = sch.state


def test_tiles_that_share_a_border_run_in_parallel():
    func = ls.from_source(
        """@T.prim_func
def main(A: T.Buffer((32, 66), "float32"), D: T.Buffer((32, 64), "float32")):
    B = T.alloc_buffer((32, 66))
    for i, j in T.grid(32, 66):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(32, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + B[vi, vj + 1] + B[vi, vj + 2]
"""
    )
    sch = tir.Schedule(func)
    i, j = sch.get_loops("D")
    outer, inner = sch.split(j, factors=[None, 12])
    sch.reorder(outer, i, inner)
    sch.compute_at("B", outer)
    sch.parallel(outer)
    assert sch.verify()
    rng = np.random.default_rng(0)
    a = rng.random((32, 66), dtype=np.float32)
    d = np.zeros((32, 64), np.float32)
    ls.build(sch)(a, d)
    np.testing.assert_allclose(d, 2 * (a[:, :-2] + a[:, 1:-1] + a[:, 2:]), rtol=1e-6)


def test_work_on_names_the_functions_that_there_are():
    module = ls.from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    @T.prim_func
    def second(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(2)
""")
    sch = tir.Schedule(module)
    with pytest.raises(ls.ScheduleError, match="the module has no function fist") as caught:
        sch.work_on("fist")
    assert caught.value.hint == "did you mean first?"
    with pytest.raises(ls.ScheduleError) as caught:
        sch.work_on("x")
    assert caught.value.hint == "it has first, second"
    sch.work_on("second")
    assert "T.float32(2)" in sch.func.script()


def test_an_order_that_loops_have_already_is_kept() -> None:
    """Bounds of the inner loop are read, and written inside of it."""
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    for i in range(4):
        for j in range(A[i], A[i] + 4):
            A[j % 16] = A[(j + i) % 16] + 1
""")
    sch = tir.Schedule(func)
    i, j = sch.get_loop("i"), sch.get_loop("j")
    assert not sch.can_apply("parallel", i)
    sch.reorder(i, j)
    assert ls.structural_equal(sch.func, func)
    with pytest.raises(ls.ScheduleError):
        sch.reorder(j, i)


def test_numbers_that_a_schedule_chose_are_calculated_with() -> None:
    A = te.placeholder((128,), name="A")
    func = te.create_prim_func([A, te.compute((128,), lambda i: A[i], name="B")])
    sch = tir.Schedule(func)
    (i,) = sch.get_loops(sch.get_block("B"))
    lanes = sch.sample_categorical([2, 4], [0.5, 0.5], decision=0)
    outer, inner = sch.split(i, factors=[None, 4 * lanes + 8 - lanes // 2 - lanes % 2])
    assert sch.get(outer).extent.value == 9
    assert sch.get(inner).extent.value == 15
    assert [int(lanes + 1), int(9 - lanes), int(lanes - 1), int(9 // lanes)] == [3, 7, 1, 4]
    other = tir.Schedule(func)
    sch.trace.with_decision(2, 1, remove_postproc=False).apply_to_schedule(other, False)
    (_, inner) = other.get_loops(other.get_block("B"))
    assert other.get(inner).extent.value == 22
    with pytest.raises(TypeError):
        lanes + "1"


def test_an_annotation_keeps_the_number_that_was_sampled():
    a = te.placeholder((64,), name="A")
    func = te.create_prim_func([a, te.compute((64,), lambda i: a[i] * 2.0, name="B")])
    sch = tir.Schedule(func, seed=1)
    (loop,) = sch.get_loops("B")
    step = sch.sample_categorical([0, 16, 64], [0.2, 0.3, 0.5], decision=1)
    sch.annotate(loop, "note", step)
    assert sch.get(loop).annotations["note"] == 16
    again = tir.Schedule(func)
    sampled = next(i for i, each in enumerate(sch.trace.insts) if "sample" in str(each.kind))
    sch.trace.with_decision(sampled, 2).apply_to_schedule(again)
    assert again.get(again.get_loops("B")[0]).annotations["note"] == 64
    assert "ann_val=v" in str(again.trace)
    other = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError, match="another schedule"):
        other.annotate(other.get_loops("B")[0], "note", step)


def test_child_loops_are_found_without_names():
    func = ls.from_source(
        """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        if i > 2:
            for j in range(8):
                A[i, j] = 1
        for j in range(8):
            A[i, j] = A[i, j] + i
    for i in range(8):
        B[i] = A[i, i]
"""
    )
    sch = tir.Schedule(func)
    first, second = sch.get_child_loops()
    assert [first.name, second.name] == ["i", "i"]
    assert [sch.get(loop).extent for loop in sch.get_child_loops(first)] == [8, 8]
    assert sch.get_child_loops(second) == []
    sch.parallel(second)
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    ls.assert_structural_equal(again.func, sch.func)
    with pytest.raises(ls.ScheduleError, match="there is no function other"):
        sch.get_child_loops(func_name="other")


def test_child_loops_of_a_function_that_is_one_block_are_those_in_it():
    func = ls.from_source(
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        B[i] = A[i]
    for j in range(8):
        A[j] = B[7 - j]
"""
    )
    assert [loop.name for loop in tir.Schedule(func).get_child_loops()] == ["i", "j"]
