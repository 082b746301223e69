# SPDX-License-Identifier: Apache-2.0
"""Schedules of tensor expressions: loops, places, and the arguments of lower and build."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from te_outline import lowered, same_results, text

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T


def product(n: int = 16, m: int = 16, depth: int = 16) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    A = te.placeholder((n, depth), name="A")
    B = te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, C


def chain(n: Any = 32) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """Return A, B = A + 1, C = B * 2."""
    A = te.placeholder((n, 8), name="A")
    B = te.compute((n, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] * 2, name="C")
    return A, B, C


def names(axes: Any) -> list[str]:
    return [axis.var.name for axis in axes]


def test_create_schedule_has_a_stage_for_each_operation_after_all_that_it_reads() -> None:
    _A, B, C = chain()
    s = te.create_schedule(C.op)
    assert [stage.op.name for stage in s.stages] == ["A", "B", "C"]
    assert s[C] == s[C.op] and s[B] != s[C]
    assert [op.name for op in s.outputs] == ["C"]
    assert s[C].is_output and not s[B].is_output
    assert names(s[C].leaf_iter_vars) == ["i", "j"]


def test_create_schedule_takes_one_operation_a_tensor_or_several() -> None:
    _A, B, C = chain()
    for ops in (C.op, C, [C.op], (C,), [C, B]):
        assert len(te.create_schedule(ops).stages) == 3
    assert [op.name for op in te.create_schedule([B, C]).outputs] == ["B", "C"]


def test_split_by_factor_names_the_axes_and_guards_what_does_not_divide() -> None:
    A, B, C = product(20, 16, 8)
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    assert names([outer, inner]) == ["i.outer", "i.inner"]
    assert names(s[C].leaf_iter_vars) == ["i.outer", "i.inner", "j", "k"]
    assert lowered(s, [A, B, C]) == text("""
        for i.outer in 3
          for i.inner in 8
            for j in 16
              if i_outer * 8 + i_inner < 20
                C =
              if i_outer * 8 + i_inner < 20
                for k in 8
                  C =
    """)
    same_results(s, [A, B, C])


def test_split_by_nparts_says_how_often_the_outer_loop_runs() -> None:
    A, B, C = product(20, 16, 8)
    s = te.create_schedule(C.op)
    s[C].split(C.op.reduce_axis[0], nparts=4)
    s[C].split(C.op.axis[1], nparts=3)
    assert lowered(s, [A, B, C]) == text("""
        for i in 20
          for j.outer in 3
            for j.inner in 6
              if j_outer * 6 + j_inner < 16
                C =
              if j_outer * 6 + j_inner < 16
                for k.outer in 4
                  for k.inner in 2
                    C =
    """)
    same_results(s, [A, B, C])


def test_splits_of_symbolic_extents_are_guarded_where_they_need_it() -> None:
    n = te.var("n")
    A, B, C = chain(n)
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    _, _inner = s[C].split(C.op.axis[0], factor=4)
    s[C].split(C.op.axis[1], factor=4)
    assert lowered(s, [A, C]) == text("""
        for i.outer in (n + 3) // 4
          for i.inner in 4
            if i_outer * 4 + i_inner < n
              for j.outer in 2
                for j.inner in 4
                  C =
    """)
    f = ls.build(s, [A, C])
    for rows in (1, 4, 7):
        a = np.arange(rows * 8, dtype="float32").reshape(rows, 8)
        c = np.zeros_like(a)
        f(a, c)
        np.testing.assert_array_equal(c, (a + 1) * 2)


def test_a_split_wider_than_the_axis_has_the_extent_of_the_axis() -> None:
    A, B, C = product(4, 16, 8)
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=32)
    assert "for i.inner in 4" in lowered(s, [A, B, C])
    assert "if" not in lowered(s, [A, B, C])


def test_fuse_takes_any_number_of_neighbours_in_either_order() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    fused = s[C].fuse(j, i)
    assert fused.var.name == "i.j.fused"
    same_results(s, [A, B, C])
    s = te.create_schedule(C.op)
    whole = s[C].fuse(i, j, C.op.reduce_axis[0])
    assert whole.var.name == "i.j.fused.k.fused"
    assert names(s[C].leaf_iter_vars) == ["i.j.fused.k.fused"]
    same_results(s, [A, B, C])


def test_fuse_of_nothing_makes_an_outermost_loop_of_one_iteration() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    axis = s[C].fuse()
    assert names(s[C].leaf_iter_vars) == ["singleton", "i", "j"]
    s[B].compute_at(s[C], axis)
    func = s.to_tir([A, C]).func
    assert "for singleton in range(1)" in func.script()
    same_results(s, [A, C])


def test_reorder_permutes_axes_among_the_places_that_they_have() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    i, _j = C.op.axis
    k = C.op.reduce_axis[0]
    s[C].reorder(k, i)
    assert names(s[C].leaf_iter_vars) == ["k", "j", "i"]
    assert lowered(s, [A, B, C]) == text("""
        for j_init in 16
          for i_init in 16
            C =
        for k in 16
          for j in 16
            for i in 16
              C =
    """)
    same_results(s, [A, B, C])


def test_tile_splits_two_axes_and_puts_the_inner_ones_inside() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    made = s[C].tile(*C.op.axis, x_factor=4, y_factor=8)
    assert names(made) == ["i.outer", "j.outer", "i.inner", "j.inner"]
    assert names(s[C].leaf_iter_vars) == ["i.outer", "j.outer", "i.inner", "j.inner", "k"]
    same_results(s, [A, B, C])


def test_loops_run_in_parallel_in_lanes_or_unrolled() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    jo, ji = s[C].split(j, factor=8)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=2)
    s[C].reorder(i, jo, ko, ki, ji)
    s[C].parallel(i)
    s[C].vectorize(ji)
    s[C].unroll(ki)
    func = s.to_tir([A, B, C]).func.script()
    assert "T.parallel(16)" in func
    assert "T.vectorized(8)" in func
    assert "T.unroll(2)" in func
    same_results(s, [A, B, C])


def test_what_is_said_last_of_how_a_loop_runs_holds() -> None:
    A, _B, C = chain()
    s = te.create_schedule(C.op)
    s[C].parallel(C.op.axis[0])
    s[C].unroll(C.op.axis[0])
    assert "T.parallel" not in s.to_tir([A, C]).func.script()


def test_a_parallel_reduction_is_a_reduction_with_partial_results() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    s[C].parallel(C.op.reduce_axis[0])
    same_results(s, [A, B, C])


def test_what_is_computed_in_a_thread_is_kept_in_its_memory() -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2, name="B")
    C = te.compute((64,), lambda i: B[i] + B[63 - i], name="C")
    for depth, scope in [(0, "shared"), (1, "local")]:
        s = te.create_schedule(C.op)
        axes = s[C].split(C.op.axis[0], factor=16)
        s[C].bind(axes[0], te.thread_axis("blockIdx.x"))
        s[C].bind(axes[1], te.thread_axis("threadIdx.x"))
        s[B].compute_at(s[C], axes[depth])
        script = s.to_tir([A, C]).func.script()
        assert f'B = T.alloc_buffer((64,), scope="{scope}")' in script
        same_results(s, [A, C], compiles=False)


def test_a_product_for_threads_adds_up_in_registers() -> None:
    A, B, C = product(32, 32, 16)
    s = te.create_schedule(C.op)
    CL = s.cache_write(C, "local")
    AL = s.cache_read(A, "local", [CL])
    i, j = s[C].op.axis
    io, jo, ii, ji = s[C].tile(i, j, 8, 8)
    for axis, tag in [(io, "blockIdx.y"), (jo, "blockIdx.x")]:
        s[C].bind(axis, te.thread_axis(tag))
    for axis, tag in [(ii, "threadIdx.y"), (ji, "threadIdx.x")]:
        s[C].bind(axis, te.thread_axis((0, 8), tag))
    s[CL].compute_at(s[C], ji)
    s[AL].compute_at(s[CL], s[CL].op.reduce_axis[0])
    memory = [line.strip() for line in lowered(s, [A, B, C]).splitlines() if " in local" in line]
    assert memory == ["C.local[1] in local", "A.local[1] in local"]
    same_results(s, [A, B, C], compiles=False)


def test_threads_fill_tiles_together_and_compute_from_registers() -> None:
    A, B, C = product(32, 32, 16)
    s = te.create_schedule(C.op)
    AA, BB = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AL, BL = s.cache_read(AA, "local", [C]), s.cache_read(BB, "local", [C])
    CL = s.cache_write(C, "local")
    tx, ty = te.thread_axis((0, 4), "threadIdx.x"), te.thread_axis((0, 4), "threadIdx.y")
    io, jo, ii, ji = s[C].tile(*s[C].op.axis, 16, 16)
    ty_axis, ii = s[C].split(ii, nparts=4)
    tx_axis, ji = s[C].split(ji, nparts=4)
    s[C].reorder(io, jo, ty_axis, tx_axis, ii, ji)
    s[C].bind(io, te.thread_axis("blockIdx.y"))
    s[C].bind(jo, te.thread_axis("blockIdx.x"))
    s[C].bind(ty_axis, ty)
    s[C].bind(tx_axis, tx)
    s[CL].compute_at(s[C], tx_axis)
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=4)
    s[CL].reorder(ko, ki, *s[CL].op.axis)
    for tile, registers in [(AA, AL), (BB, BL)]:
        s[tile].compute_at(s[CL], ko)
        s[registers].compute_at(s[CL], ki)
        rows, columns = s[tile].op.axis
        rows, _ = s[tile].split(rows, nparts=4)
        columns, _ = s[tile].split(columns, nparts=4)
        s[tile].bind(rows, ty)
        s[tile].bind(columns, tx)
    script = s.to_tir([A, B, C]).func.script()
    assert script.count('thread="threadIdx.x"') == 3
    same_results(s, [A, B, C], compiles=False)


def test_pragmas_are_annotations_of_the_loop() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 16)
    s[C].pragma(C.op.axis[0], "unroll_explicit")
    s[C].pragma(C.op.reduce_axis[0], "unroll")
    script = s.to_tir([A, B, C]).func.script()
    assert '"pragma_auto_unroll_max_step": 16' in script
    assert '"pragma_unroll_explicit": 1' in script
    assert "T.unroll(16)" in script
    same_results(s, [A, B, C])


def test_compute_at_computes_what_an_iteration_needs() -> None:
    A = te.placeholder((34, 34), name="A")
    B = te.compute((34, 34), lambda y, x: A[y, x] * 2, name="B")
    C = te.compute((32, 32), lambda y, x: B[y, x] + B[y + 1, x] + B[y + 2, x], name="C")
    s = te.create_schedule(C.op)
    yo, _yi = s[C].split(C.op.axis[0], factor=8)
    s[B].compute_at(s[C], yo)
    s[B].split(B.op.axis[1], factor=16)
    assert lowered(s, [A, C]) == text("""
        for y.outer in 4
          B[320] in global
          for y in 10
            for x.outer in 2
              for x.inner in 16
                B =
          for y.inner in 8
            for x in 32
              C =
    """)
    same_results(s, [A, C])


def test_compute_at_guards_a_halo_that_does_not_fit() -> None:
    n = te.var("n")
    A = te.placeholder((n + 2,), name="A")
    B = te.compute((n + 2,), lambda x: A[x] * 2, name="B")
    C = te.compute((n,), lambda x: B[x] + B[x + 2], name="C")
    s = te.create_schedule(C.op)
    xo, _ = s[C].split(C.op.axis[0], factor=8)
    s[B].compute_at(s[C], xo)
    same = s.to_tir([n, A, C]).func
    ls.interp.assert_same(same, te.create_prim_func([n, A, C]))


def test_an_axis_that_is_split_or_fused_later_takes_what_is_attached_along() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    i, _j = C.op.axis
    s[B].compute_at(s[C], i)
    io, ii = s[C].split(i, factor=4)
    assert lowered(s, [A, C]) == text("""
        for i.outer in 8
          for i.inner in 4
            B[8] in global
            for j in 8
              B =
            for j in 8
              C =
    """)
    s[C].fuse(io, ii)
    assert "for i.outer.i.inner.fused in 32" in lowered(s, [A, C])
    same_results(s, [A, C])


def test_stages_attach_to_stages_that_are_attached() -> None:
    A, B, C = chain()
    D = te.compute((32, 8), lambda i, j: C[i, j] - 3, name="D")
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    s[B].compute_at(s[C], C.op.axis[1])
    assert lowered(s, [A, D]) == text("""
        for i in 32
          C[8] in global
          for j in 8
            B[1] in global
            B =
            C =
          for j in 8
            D =
    """)
    same_results(s, [A, D])


def test_several_consumers_in_one_loop_share_what_they_need() -> None:
    A, B, C = chain()
    D = te.compute((32, 8), lambda i, j: B[i, j] + C[i, 7 - j], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[D], D.op.axis[0])
    s[C].compute_at(s[D], D.op.axis[0])
    same_results(s, [A, D])


def test_compute_inline_puts_values_where_they_are_read() -> None:
    A, B, C = chain()
    D = te.compute((32, 8), lambda i, j: C[i, j] + B[i, 7 - j], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_inline()
    s[C].compute_inline()
    assert lowered(s, [A, D]) == text("""
        for i in 32
          for j in 8
            D =
    """)
    same_results(s, [A, D])


def test_compute_root_takes_a_place_back() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    before = lowered(s, [A, C])
    s[B].compute_at(s[C], C.op.axis[0])
    assert s[B].attach_type == 4 and s[B].attach_stage == s[C]
    s[B].compute_root()
    assert s[B].attach_type == 1 and s[B].attach_ivar is None
    assert lowered(s, [A, C]) == before


def test_outputs_of_one_compute_are_scheduled_together() -> None:
    A = te.placeholder((16, 8), name="A")
    B, C = te.compute((16, 8), lambda i, j: (A[i, j] + 1, A[i, j] * 2), name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=4)
    same_results(s, [A, B, C])
    D = te.compute((16, 8), lambda i, j: B[i, j] + C[i, j], name="D")
    s = te.create_schedule(D)
    s[B].compute_at(s[D], D.op.axis[0])
    same_results(s, [A, D])


def test_a_schedule_is_replayed_as_steps_that_can_be_read() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    io, _ii = s[C].split(C.op.axis[0], factor=4)
    s[B].compute_at(s[C], io)
    s[C].parallel(io)
    sch = s.to_tir([A, C])
    assert isinstance(sch, tir.Schedule)
    steps = [
        line.split("sch.")[1].split("(")[0] for line in str(sch.trace).splitlines()[2:] if line
    ]
    assert steps == [
        "get_block",
        "get_loops",
        "split",
        "get_block",
        "compute_at",
        "get_loops",
        "fuse",
        "fuse",
        "parallel",
    ]
    again = tir.Schedule(te.create_prim_func([A, C]))
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    ls.assert_structural_equal(again.func, sch.func)


def test_to_tir_without_arguments_takes_inputs_and_outputs() -> None:
    _A, _B, C = chain()
    s = te.create_schedule(C.op)
    params = [str(buffer.name) for buffer in s.to_tir().func.buffer_map.values()]
    assert params == ["A", "C"]


def test_lower_and_build_take_arguments_a_name_and_a_target() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    assert ls.lower(s, [A, C], name="twice").attrs["global_symbol"] == "twice"
    assert ls.lower(s, [A, C], "twice", simple_mode=True).attrs["global_symbol"] == "twice"
    a = np.ones((32, 8), "float32")
    for module in (
        ls.build(s, [A, C], "llvm", name="twice"),
        ls.build(s, [A, C], target="llvm"),
        ls.build(s, [A, C]),
        ls.build(s),
        ls.build(s, "llvm"),
        ls.build([A, C], "llvm"),
        ls.build([A, C], target=ls.Target("llvm")),
    ):
        c = np.zeros_like(a)
        module(a, c)
        np.testing.assert_array_equal(c, 4 * a)


def test_binds_say_how_the_arrays_of_arguments_lie() -> None:
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] * 2, name="B")
    s = te.create_schedule(B.op)
    column_major = tir.decl_buffer((4, 6), "float32", name="A", strides=[1, 4])
    f = ls.build(s, [A, B], binds={A: column_major})
    a = np.asfortranarray(np.arange(24, dtype="float32").reshape(4, 6))
    b = np.zeros((4, 6), "float32")
    f(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_normalize_says_of_each_stage_where_it_is_computed() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    g = s.create_group(outputs=B, inputs=A)
    g.compute_at(s[C], C.op.axis[0])
    _, inner = s[C].split(C.op.axis[0], factor=4)
    assert s.groups == [g]
    normal = s.normalize()
    assert normal[B].attach_ivar.same_as(inner)
    assert s[B].attach_type == 1 and normal[B].attach_type == 4
    assert lowered(normal, [A, C]) == lowered(s, [A, C])


def test_an_intermediate_tensor_may_be_an_argument() -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=4)
    a = np.ones((32, 8), "float32")
    b, c = np.zeros_like(a), np.zeros_like(a)
    ls.build(s, [A, B, C])(a, b, c)
    np.testing.assert_array_equal(b, 2 * a)
    np.testing.assert_array_equal(c, 4 * a)


@T.prim_func
def copy(a: T.Buffer((32, 8), "float32"), b: T.Buffer((32, 8), "float32")):
    for i, j in T.grid(32, 8):
        b[i, j] = a[i, j]


def test_an_extern_stage_stays_where_it_is_among_scheduled_ones() -> None:
    A, B, _C = chain()
    D = te.extern_primfunc([B], copy, name="D")
    E = te.compute((32, 8), lambda i, j: D[i, j] + 1, name="E")
    s = te.create_schedule(E.op)
    s[B].split(B.op.axis[0], factor=8)
    s[E].split(E.op.axis[1], factor=4)
    same_results(s, [A, E])


def test_a_scan_is_a_loop_around_its_scheduled_steps() -> None:
    X = te.placeholder((9, 8), name="X")
    state = te.placeholder((9, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    update = te.compute((9, 8), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    sums = te.scan(init, update, state, inputs=[X], name="sums")
    s = te.create_schedule(sums.op)
    _, inner = s[update].split(update.op.axis[1], factor=4)
    s[update].vectorize(inner)
    same_results(s, [X, sums])


def recurrence() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """Return X, two steps of a scan over it, and its result."""
    X = te.placeholder((9, 8), name="X")
    state = te.placeholder((9, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    twice = te.compute((9, 8), lambda t, i: state[t - 1, i] * 2, name="twice")
    update = te.compute((9, 8), lambda t, i: twice[t, i] + X[t, i], name="update")
    return X, twice, update, te.scan(init, update, state, inputs=[X], name="scan")


def test_steps_of_a_scan_are_placed_in_each_other() -> None:
    X, twice, update, scan = recurrence()
    for axis in update.op.axis:
        s = te.create_schedule(scan.op)
        s[twice].compute_at(s[update], axis)
        same_results(s, [X, scan])
    s = te.create_schedule(scan.op)
    s.cache_read(X, "local", [update])
    s.cache_write(twice, "local")
    same_results(s, [X, scan])


def test_the_time_of_a_scan_is_no_loop_of_a_step() -> None:
    X, twice, _, scan = recurrence()
    s = te.create_schedule(scan.op)
    s[twice].split(twice.op.axis[0], factor=4)
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([X, scan])
    assert (
        "split: axis t of stage twice is the time of a scan, whose loop all its steps share"
    ) in str(error.value)
    assert "schedule its other axes" in str(error.value)


def test_threads_of_a_scan_are_those_of_its_steps() -> None:
    X, twice, update, scan = recurrence()
    s = te.create_schedule(scan.op)
    tx = te.thread_axis((0, 8), "threadIdx.x")
    s[scan].env_threads(tx)
    for step in (twice, update):
        s[step].bind(step.op.axis[1], tx)
    same_results(s, [X, scan], compiles=False)
    assert s.to_tir([X, scan]).func.script().count('thread="threadIdx.x"') == 2


def test_a_step_of_a_scan_is_computed_where_it_is_read() -> None:
    X, twice, _update, scan = recurrence()
    s = te.create_schedule(scan.op)
    s[twice].compute_inline()
    func = s.to_tir([X, scan]).func
    assert "alloc_buffer" not in func.script()
    same_results(s, [X, scan])


def test_a_chain_of_steps_is_inlined_and_the_rest_scheduled() -> None:
    X = te.placeholder((9, 8), name="X")
    state = te.placeholder((9, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    twice = te.compute((9, 8), lambda t, i: state[t - 1, i] * 2, name="twice")
    turned = te.compute((9, 8), lambda t, i: twice[t, 7 - i] + twice[t, i], name="turned")
    update = te.compute((9, 8), lambda t, i: turned[t, i] + X[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    result = te.compute((9, 8), lambda t, i: scan[t, i] + 1, name="result")
    s = te.create_schedule(result.op)
    s[twice].compute_inline()
    s[turned].compute_inline()
    _, inner = s[update].split(update.op.axis[1], factor=4)
    s[update].unroll(inner)
    s[result].parallel(result.op.axis[0])
    same_results(s, [X, result])
    same_results(s, [X, scan, result])


def test_rows_of_a_scan_are_stored_and_not_inlined() -> None:
    X, _twice, update, scan = recurrence()
    for stage in (update, scan.op.init[0]):
        s = te.create_schedule(scan.op)
        s[stage].compute_inline()
        with pytest.raises(ls.ScheduleError) as error:
            s.to_tir([X, scan])
        assert f"stage {stage.name} makes rows of scan scan, which are stored" in str(error.value)
        assert "say it of what it reads" in str(error.value)


def test_cache_read_of_a_state_copies_the_row_that_a_step_reads() -> None:
    X, twice, update, scan = recurrence()
    (state,) = scan.op.state_placeholder
    s = te.create_schedule(scan.op)
    row = s.cache_read(state, "local", [twice])
    assert row.name == "state.local"
    same_results(s, [X, scan])
    s[row].compute_at(s[twice], twice.op.axis[1])
    s[twice].compute_at(s[update], update.op.axis[1])
    same_results(s, [X, scan])
    assert 'scope="local"' in s.to_tir([X, scan]).func.script()


def test_cache_read_of_a_state_is_of_rows_at_one_distance() -> None:
    state = te.placeholder((9, 8), name="state")
    init = te.compute((2, 8), lambda t, i: te.const(1.0), name="init")
    update = te.compute((9, 8), lambda t, i: state[t - 1, i] + state[t - 2, i], name="update")
    scan = te.scan(init, update, state, name="scan")
    s = te.create_schedule(scan.op)
    with pytest.raises(ls.ScheduleError) as error:
        s.cache_read(state, "local", [update])
    assert "update reads the state state at rows of several distances before its own" in str(
        error.value
    )
    assert "call cache_read for each reader" in str(error.value)


def test_cache_read_of_a_state_is_for_steps_with_a_time() -> None:
    _X, _twice, _update, scan = recurrence()
    (state,) = scan.op.state_placeholder
    total = te.compute((), lambda: state[0, 0], name="total")
    s = te.create_schedule([scan.op, total.op])
    with pytest.raises(ls.ScheduleError) as error:
        s.cache_read(state, "local", [total])
    assert "reads the state state, but is no compute with a time axis" in str(error.value)
    assert "name computes of the scan's steps" in str(error.value)


def test_a_factored_axis_is_fused_with_no_other_reduction() -> None:
    A = te.placeholder((4, 8, 8), name="A")
    k, m = te.reduce_axis((0, 8), name="k"), te.reduce_axis((0, 8), name="m")
    B = te.compute((4,), lambda i: te.sum(A[i, k, m], axis=[k, m]), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(k, factor=2)
    s[B].fuse(inner, m)
    with pytest.raises(ls.ScheduleError) as error:
        s.rfactor(B, outer)
    assert "axes k.inner and m of stage B, of which one is of the reduction" in str(error.value)
    assert "call rfactor before the axes are fused" in str(error.value)


def test_a_layout_takes_each_dimension() -> None:
    _A, B, C = chain()
    s = te.create_schedule(C.op)
    for call in (s[B].set_layout, s[B].transform_layout):
        with pytest.raises(ValueError, match="the function takes 1 indices, ndim is 2"):
            call(lambda i: [i])


def test_threads_of_a_scan_that_no_step_uses_are_refused() -> None:
    X, twice, _update, scan = recurrence()
    s = te.create_schedule(scan.op)
    tx, ty = (te.thread_axis((0, 8), f"threadIdx.{name}") for name in "xy")
    s[scan].env_threads([tx, ty])
    s[twice].bind(twice.op.axis[1], tx)
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([X, scan])
    assert "no step of scan scan has an axis that is bound to threadIdx.y" in str(error.value)
    assert "bind an axis of each step to it" in str(error.value)


def test_an_axis_of_output_and_reduction_is_not_parallel() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    fused = s[C].fuse(C.op.axis[1], C.op.reduce_axis[0])
    same_results(s, [A, B, C])
    s[C].parallel(fused)
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([A, B, C])
    assert "parallel: results would change: loop j.k.fused is a reduction: iteration" in str(
        error.value
    )
    assert "rfactor it, then parallelize the new loop" in str(error.value)


@pytest.mark.parametrize("factor", [3, 8])
def test_reductions_of_tuples_keep_their_pairs(factor: int) -> None:
    A = te.placeholder((16, 20), name="A")
    k = te.reduce_axis((0, 20), name="k")
    best = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda t, u: (te.const(-1, t), te.min_value(u)),
        name="argmax",
    )
    index, value = te.compute((16,), lambda i: best((k, A[i, k]), axis=k), name="best")
    s = te.create_schedule(index.op)
    s[index].split(index.op.axis[0], factor=factor)
    s[index].split(k, factor=factor)
    ls.interp.assert_same(s.to_tir([A, index, value]).func, te.create_prim_func([A, index, value]))


def rows_and_sums() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """Return A, E = A + 1, and F, the sums of the rows of E."""
    A = te.placeholder((8, 16), name="A")
    E = te.compute((8, 16), lambda i, j: A[i, j] + 1, name="E")
    k = te.reduce_axis((0, 16), name="k")
    F = te.compute((8,), lambda i: te.sum(E[i, k], axis=k), name="F")
    return A, E, F


def test_an_output_that_is_no_argument_is_kept_inside() -> None:
    A, E, F = rows_and_sums()
    s = te.create_schedule(F.op)
    func = s.to_tir([A, E]).func
    assert [buffer.name for buffer in func.body.block.alloc_buffers] == ["F"]
    same_results(s, [A, E])

    P = te.compute((8,), lambda i: F[i] * 2, name="P")
    s = te.create_schedule([F.op, P.op])
    assert [b.name for b in s.to_tir([A, P]).func.body.block.alloc_buffers] == ["E", "F"]
    same_results(s, [A, P])


def test_an_argument_is_computed_in_the_loop_of_its_reader() -> None:
    A, E, F = rows_and_sums()
    s = te.create_schedule(F.op)
    s[E].compute_at(s[F], F.op.axis[0])
    same_results(s, [A, E, F])
    same_results(s, [A, E])
    assert lowered(s, [A, E, F]) == text("""
        for i in 8
          for j in 16
            E =
          F =
          for k in 16
            F =
    """)


@pytest.mark.parametrize(
    "layout",
    [
        lambda i, j: [j, i],
        lambda i, j: [i // 4, j, i % 4],
        lambda i, j: [(i * 8 + j) // 16, (i * 8 + j) % 16],
        lambda i, j: [i, 7 - j],
        lambda i, lambda_: [lambda_, i],
    ],
)
def test_a_printed_trace_with_a_layout_runs_as_it_is(layout: Any) -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    s[B].set_layout(layout)
    s[B].compute_at(s[C], C.op.axis[0])
    sch = s.to_tir([A, C])
    assert "from_json" not in str(sch.trace)
    space: dict[str, Any] = {}
    exec(str(sch.trace), space)
    again = tir.Schedule(te.create_prim_func([A, C]))
    space["apply_trace"](again)
    assert ls.structural_equal(again.func, sch.func)


# ---- As text ----


def test_a_schedule_is_kept_as_text_with_all_that_was_decided() -> None:
    A, B, C = product()
    s = te.create_schedule(C.op)
    cached = s.cache_write(C, "local")
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    s[C].reorder(C.op.axis[1], outer, inner)
    s[C].parallel(C.op.axis[1])
    s[C].pragma(outer, "auto_unroll_max_step", 8)
    s[cached].compute_at(s[C], outer)
    s[cached].set_scope("local")
    wanted = lowered(s, [A, B, C])
    for again in (te.Schedule.from_json(s.as_json()), pickle.loads(pickle.dumps(s))):
        inputs = {op.name: op.output(0) for op in (stage.op for stage in again.stages)}
        assert lowered(again, [inputs[name] for name in ("A", "B", "C")]) == wanted
        assert names(again[inputs["C"]].leaf_iter_vars) == names(s[C].leaf_iter_vars)


def test_a_text_of_something_else_is_no_schedule() -> None:
    with pytest.raises(ls.FormatError) as error:
        te.Schedule.from_json(ls.to_json(tir.const(1)))
    assert "schedule: the text is none of a schedule: a decision has no fields" in str(error.value)
    assert "give a text that a schedule was written to" in str(error.value)


# ---- Groups ----


def test_the_steps_of_a_scan_are_a_group() -> None:
    X, twice, update, scan = recurrence()
    s = te.create_schedule(scan.op)
    assert s[twice].group is not None and s[twice].group == s[update].group
    assert s[X].group is None and s[scan].group is None
    assert s[update].group.num_child_stages == 2
    doubled = te.compute((4, 8), lambda i, j: scan[i, j] * 2, name="doubled")
    s = te.create_schedule(doubled.op)
    with pytest.raises(ls.ScheduleError) as error:
        s[twice].compute_at(s[doubled], doubled.op.axis[0])
    assert "stage twice is in a group of which stage doubled is no part" in str(error.value)
    assert "name a stage of its group, or say it of the group" in str(error.value)


def test_an_output_that_nothing_reads_stays_where_it_is() -> None:
    A = te.placeholder((8, 8), name="A")
    B, unread = te.compute((8, 8), lambda i, j: (A[i, j] * 2, A[i, j] * 3), name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] + 4, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    same_results(s, [A, C])
    assert unread.name == "B.v1"


# ---- Layouts of arguments ----


def test_an_argument_lies_as_its_stage_says() -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] * 2, name="B")
    s = te.create_schedule(B.op)
    s[A].set_layout(lambda i, j: [j, i])
    tiles = s[B].transform_layout(lambda i, j: [i, j // 4, j % 4])
    assert len(tiles) == 3
    double = ls.build(s, [A, B], "llvm")
    a = np.arange(128, dtype="float32").reshape(8, 16)
    b = np.empty((8, 4, 4), "float32")
    double(np.ascontiguousarray(a.T), b)
    np.testing.assert_array_equal(b.reshape(8, 16), a * 2)
