# SPDX-License-Identifier: Apache-2.0
"""Each primitive of schedules of tensor expressions: what a program lowers to, and computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from te_outline import lowered, same_results, text

import loopsmith as ls
from loopsmith import te

N = 64


def row_sums(n: int = N) -> tuple[te.Tensor, te.Tensor]:
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")


def total(n: int = N) -> tuple[te.Tensor, te.Tensor]:
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    return A, te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")


def added(n: int = N) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    return A, B, te.compute((n, n), lambda i, j: A[i, j] + B[i, j], name="C")


def test_storage_align_pads_the_stride_of_a_dimension() -> None:
    A, B = row_sums(1024)
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, "shared", [B])
    s[AA].storage_align(AA.op.axis[0], 100, 8)
    script = ls.lower(s, [A, B], simple_mode=True).script()
    # The last row needs no padding: 1023 * 1108 + 1024.
    assert 'A_shared = T.decl_buffer((1134508,), scope="shared")' in script
    assert "A_shared[ax0 * 1108 + ax1] = A_1[ax0 * 1024 + ax1]" in script
    assert "A_shared[i * 1108 + k]" in script


def test_compute_at_puts_partial_results_into_the_loop_that_needs_them() -> None:
    A, B = total()
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=32)
    BF = s.rfactor(B, ki)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    attached = text("""
        B =
        for k.inner.v in 32
          B.rf[1] in global
          B.rf =
          for k.outer in 2
            B.rf =
          B =
    """)
    assert lowered(s, [A, B]) == attached
    same_results(s, [A, B])
    s[BF].compute_root()
    assert lowered(s, [A, B]) == text("""
        B.rf[32] in global
        for k.inner in 32
          B.rf =
          for k.outer in 2
            B.rf =
        B =
        for k.inner.v in 32
          B =
    """)
    same_results(s, [A, B])


def test_compute_inline_of_padding_leaves_no_stage() -> None:
    n, k, pad = 16, 3, 2
    A = te.placeholder((n, n), name="A")
    W = te.placeholder((k, k), name="W")
    m = n - k + 2 * pad + 1
    Apad = te.compute(
        (n + 2 * pad, n + 2 * pad),
        lambda yy, xx: te.if_then_else(
            te.all(yy >= pad, yy < pad + n, xx >= pad, xx < pad + n),
            A[yy - pad, xx - pad],
            te.const(0, "float32"),
        ),
        name="Apad",
    )
    ry = te.reduce_axis((0, k), name="ry")
    rx = te.reduce_axis((0, k), name="rx")
    B = te.compute(
        (m, m),
        lambda yy, xx: te.sum(Apad[yy + ry, xx + rx] * W[ry, rx], axis=[ry, rx]),
        name="B",
    )
    nest = """
        for yy in 18
          for xx in 18
            B =
            for ry in 3
              for rx in 3
                B =
    """
    s = te.create_schedule(B.op)
    padding = """
        Apad[400] in global
        for yy in 20
          for xx in 20
            Apad ="""
    assert lowered(s, [A, W, B]) == text(padding + nest)
    s[Apad].compute_inline()
    assert lowered(s, [A, W, B]) == text(nest)
    same_results(s, [A, W, B])


def test_split_and_fuse_of_a_reduction_are_inverse() -> None:
    A, B = total()
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=32)
    assert lowered(s, [A, B]) == text("""
        B =
        for k.outer in 2
          for k.inner in 32
            B =
    """)
    same_results(s, [A, B])
    fused = s[B].fuse(ko, ki)
    assert fused.var.name == "k.outer.k.inner.fused"
    assert lowered(s, [A, B]) == text("""
        B =
        for k.outer.k.inner.fused in 64
          B =
    """)
    same_results(s, [A, B])


def test_reorder_takes_inner_loops_out() -> None:
    A, B, C = added()
    s = te.create_schedule(C.op)
    xo, xi = s[C].split(s[C].op.axis[0], factor=32)
    yo, yi = s[C].split(s[C].op.axis[1], factor=32)
    s[C].reorder(xo, yo, yi, xi)
    assert lowered(s, [A, B, C]) == text("""
        for i.outer in 2
          for j.outer in 2
            for j.inner in 32
              for i.inner in 32
                C =
    """)
    same_results(s, [A, B, C])


def test_tile_of_a_product_initialises_each_element_before_its_reduction() -> None:
    A = te.placeholder((N, N), name="A")
    B = te.placeholder((N, N), name="B")
    K = te.reduce_axis((0, N), name="K")
    C = te.compute((N, N), lambda i, j: te.sum(A[i, K] * B[K, j], axis=K), name="C")
    s = te.create_schedule(C.op)
    s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    assert lowered(s, [A, B, C]) == text("""
        for i.outer in 2
          for j.outer in 2
            for i.inner in 32
              for j.inner in 32
                C =
                for K in 64
                  C =
    """)
    same_results(s, [A, B, C])


def test_unroll_writes_out_an_inner_loop() -> None:
    A, B, C = added()
    s = te.create_schedule(C.op)
    _, xi = s[C].split(s[C].op.axis[0], factor=4)
    s[C].unroll(xi)
    assert lowered(s, [A, B, C]) == text("""
        for i.outer in 16
          for j in 64
            C =
          for j in 64
            C =
          for j in 64
            C =
          for j in 64
            C =
    """)
    same_results(s, [A, B, C])


def test_vectorize_makes_one_access_of_the_loop() -> None:
    A, B, C = added()
    s = te.create_schedule(C.op)
    *_, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    s[C].vectorize(yi)
    assert lowered(s, [A, B, C]) == text("""
        for i.outer in 2
          for j.outer in 2
            for i.inner in 32
              C =
    """)
    script = ls.lower(s, [A, B, C], simple_mode=True).script()
    assert ":i_outer * 2048 + j_outer * 32 + i_inner * 64 + 32]" in script
    same_results(s, [A, B, C])


def test_pragma_unroll_unrolls() -> None:
    A = te.placeholder((N, N), name="A")
    l = te.reduce_axis((0, N), name="l")  # noqa: E741
    B = te.compute((N,), lambda i: te.sum(A[i, l], axis=l), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=4)
    s[B].pragma(ki, "unroll")
    assert lowered(s, [A, B]) == text("""
        for i in 64
          B =
          for l.outer in 16
            B =
            B =
            B =
            B =
    """)
    same_results(s, [A, B])


def test_prefetch_asks_for_what_later_iterations_read() -> None:
    A, B = row_sums()
    s = te.create_schedule(B.op)
    s[B].prefetch(A, s[B].op.reduce_axis[0], 1)
    assert "T.prefetch(A[i, k + 1])" in s.to_tir([A, B]).func.script()
    assert lowered(s, [A, B]) == text("""
        for i in 64
          B =
          for k in 64
            if k < 63
              T.prefetch(T.address_of(A[i * 64 + k + 1]), 0, 3, 1)
            B =
    """)
    same_results(s, [A, B])
    s[B].prefetch(A, B.op.axis[0], 2)
    assert "T.prefetch(A[i + 2, 0:64])" in s.to_tir([A, B]).func.script()
    same_results(s, [A, B])


def test_create_group_moves_its_stages_together() -> None:
    n = N
    k = te.reduce_axis((0, n), name="k")
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    D = te.compute((n, n), lambda i, j: A[i, j] + B[i, j], name="D")
    E = te.compute((n, n), lambda i, j: D[i, j] + B[i, j], name="E")
    F = te.compute((n,), lambda i: te.sum(E[i, k], axis=k), name="F")
    s = te.create_schedule(F.op)
    g = s.create_group(outputs=E, inputs=[A, B], include_inputs=True)
    g.compute_at(s[F], F.op.reduce_axis[0])
    assert s[D].group == g and s[E].group == g and s[F].group is None
    assert lowered(s, [A, B, F]) == text("""
        for i in 64
          F =
          for k in 64
            D[1] in global
            E[1] in global
            D =
            E =
            F =
    """)
    same_results(s, [A, B, F])
    g.compute_inline()
    assert lowered(s, [A, B, F]) == text("""
        for i in 64
          F =
          for k in 64
            F =
    """)
    g.compute_root()
    assert lowered(s, [A, B, F]).count("for") == 6


def test_groups_nest_and_do_not_overlap() -> None:
    A = te.placeholder((8,), name="A")
    stages: list[Any] = [A]
    for name in "BCDE":
        read = stages[-1]
        stages.append(te.compute((8,), lambda i, read=read: read[i] + 1, name=name))
    _, B, C, D, E = stages
    s = te.create_schedule(E.op)
    inner = s.create_group(outputs=C, inputs=A)
    outer = s.create_group(outputs=D, inputs=A)
    assert inner.group == outer and s[D].group == outer and s[B].group == inner
    outer.compute_at(s[E], E.op.axis[0])
    inner.set_scope("local")
    assert s[B].scope == s[C].scope == "local" and s[D].scope == ""
    same_results(s, [A, E])
    with pytest.raises(
        ls.ScheduleError, match="is in a group of which other stages would stay outside"
    ):
        s.create_group(outputs=E, inputs=B)
    with pytest.raises(ls.ScheduleError, match="split: a group has no axes"):
        outer.split(E.op.axis[0], factor=2)


def test_double_buffer_fills_one_copy_while_the_other_is_read() -> None:
    A, B = row_sums()
    C = te.compute((N,), lambda i: B[i] + 10, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    assert '"double_buffer_scope": 0' in s.to_tir([A, C]).func.script()
    same_results(s, [A, C])


def test_rolling_buffer_keeps_rows_for_the_next_iteration() -> None:
    A = te.placeholder((34, 34), name="A")
    B = te.compute((34, 34), lambda y, x: A[y, x] * 2, name="B")
    C = te.compute((32, 32), lambda y, x: B[y, x] + B[y + 1, x] + B[y + 2, x], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    assert "B[96] in global" in lowered(s, [A, C])  # Three rows of 32.
    same_results(s, [A, C])


def test_transform_layout_computes_in_the_order_of_the_new_layout() -> None:
    A, _ = row_sums()
    B = te.compute((N, N), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((N, N), lambda i, j: B[i, j] * B[j, i], name="C")
    s = te.create_schedule(C.op)
    axes = s[B].transform_layout(lambda i, j: [j // 4, i, j % 4])
    assert [axis.var.name for axis in axes] == ["axis0", "i", "axis2"]
    assert s[B].leaf_iter_vars == axes
    s[B].vectorize(axes[2])
    assert lowered(s, [A, C]).startswith(
        text("""
        B[4096] in global
        for axis0 in 16
          for i in 64
            B =
    """)
    )
    assert "T.alloc_buffer((16, 64, 4))" in s.to_tir([A, C]).func.script()
    same_results(s, [A, C])


def test_set_layout_changes_the_memory_and_not_the_order() -> None:
    n = te.var("n")
    A = te.placeholder((n, 8), name="A")
    B = te.compute((n, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].split(B.op.axis[1], factor=4)
    s[B].set_layout(lambda i, j: [j, i])
    script = s.to_tir([A, C]).func.script()
    assert "B = T.alloc_buffer((8, n))" in script
    assert "for i, j_outer, j_inner in T.grid(n, 2, 4)" in script
    f = ls.build(s, [A, C])
    a = np.arange(40, dtype="float32").reshape(5, 8)
    c = np.zeros_like(a)
    f(a, c)
    np.testing.assert_array_equal(c, (a + 1) * 2)


def test_all_outputs_of_a_stage_are_laid_out() -> None:
    A = te.placeholder((8, 4), name="A")
    B, C = te.compute((8, 4), lambda i, j: (A[i, j] + 1, A[i, j] * 2), name="B")
    D = te.compute((8, 4), lambda i, j: B[i, j] + C[i, 3 - j], name="D")
    s = te.create_schedule(D.op)
    s[B].set_layout(lambda i, j: [j, i])
    assert s.to_tir([A, D]).func.script().count("T.alloc_buffer((4, 8))") == 2
    same_results(s, [A, D])
    s = te.create_schedule(D.op)
    s[B].transform_layout(lambda i, j: [j, i])
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([A, D])
    assert "transform_layout: the outputs of stage B are computed in the same loops" in str(
        error.value
    )


def test_fuse_into_moves_a_chain_under_one_loop_and_keeps_splits() -> None:
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 16), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((16, 16), lambda i, j: B[i, j] * 2, name="C")
    D = te.compute((16, 16), lambda i, j: C[i, 15 - j] + B[i, j], name="D")
    s = te.create_schedule(D.op)
    s[B].split(B.op.axis[1], factor=4)
    s.fuse_into(s[D], D.op.axis[0])
    assert lowered(s, [A, D]) == text("""
        for i in 16
          B[16] in global
          C[16] in global
          for j.outer in 4
            for j.inner in 4
              B =
          for j in 16
            C =
          for j in 16
            D =
    """)
    same_results(s, [A, D])
    s[B].compute_root()
    s.fuse_into(s[D], D.op.axis[0], [B])
    same_results(s, [A, D])
