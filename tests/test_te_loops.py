# SPDX-License-Identifier: Apache-2.0
"""Loops of scheduled stages: split, fused, reordered, run concurrently, bound to threads."""

from __future__ import annotations

import numpy as np
import pytest
from te_outline import lowered, same_results, text
from test_te_schedule import chain, names, product

import loopsmith as ls
from loopsmith import te


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


@pytest.mark.parametrize("is_bound", [False, True])
@pytest.mark.parametrize("is_at_loop", [False, True])
@pytest.mark.parametrize(("scope", "size"), [("shared", 8), ("local", 1)])
def test_each_thread_fills_its_own_memory_wherever_the_stage_stands(
    is_bound: bool, is_at_loop: bool, scope: str, size: int
) -> None:
    A = te.placeholder((4, 16, 8), name="A")
    B = te.compute((4, 16, 8), lambda o, i, j: A[o, i, j] * 2, name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, scope, [B])
    o, i, j = B.op.axis
    if is_at_loop:
        s[AA].compute_at(s[B], o)
    for stage, axes in [(B, (i, j)), (AA, AA.op.axis[1:])][: 1 + is_bound]:
        for axis, tag in zip(axes, ("blockIdx.x", "threadIdx.x")):
            s[stage].bind(axis, te.thread_axis(tag))
    script = lowered(s, [A, B])
    assert f"A.{scope}[{size}] in {scope}" in script
    assert script.count("blockIdx.x") == 1
    same_results(s, [A, B], compiles=False)


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
