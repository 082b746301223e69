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


def test_a_layout_takes_each_dimension() -> None:
    _A, B, C = chain()
    s = te.create_schedule(C.op)
    for call in (s[B].set_layout, s[B].transform_layout):
        with pytest.raises(ValueError, match="the function takes 1 indices, ndim is 2"):
            call(lambda i: [i])


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
