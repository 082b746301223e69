# SPDX-License-Identifier: Apache-2.0
"""Caches, memory and layouts of stages in schedules of tensor expressions."""

from __future__ import annotations

from te_outline import lowered, same_results, text
from test_te_primitives import N, added, row_sums

import loopsmith as ls
from loopsmith import te


def test_cache_read_copies_into_other_memory_what_its_readers_read() -> None:
    A, B = row_sums()
    s = te.create_schedule(B.op)
    assert lowered(s, [A, B]) == text("""
        for i in 64
          B =
          for k in 64
            B =
    """)
    AA = s.cache_read(A, "shared", [B])
    assert AA.op.name == "A.shared"
    assert [stage.op.name for stage in s.stages] == ["A", "A.shared", "B"]
    assert lowered(s, [A, B]) == text("""
        A.shared[4096] in shared
        for ax0 in 64
          for ax1 in 64
            A.shared =
        for i in 64
          B =
          for k in 64
            B =
    """)
    same_results(s, [A, B])


def test_cache_read_serves_some_readers_and_finds_a_new_name() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    C = te.compute((8,), lambda i: A[i] * B[i], name="C")
    s = te.create_schedule(C.op)
    first = s.cache_read(A, "global", [B])
    second = s.cache_read(A, "global", [C.op])
    assert [first.op.name, second.op.name] == ["A.global", "A.d.global"]
    assert s[B].op.input_tensors == [first]
    assert set(s[C].op.input_tensors) == {second, s[B].op.output(0)}
    same_results(s, [A, C])


def test_cache_write_computes_in_other_memory_and_copies() -> None:
    A, B = row_sums()
    s = te.create_schedule(B.op)
    BL = s.cache_write(B, "local")
    assert BL.op.name == "B.local"
    assert lowered(s, [A, B]) == text("""
        B.local[64] in local
        for i.c in 64
          B.local =
          for k in 64
            B.local =
        for i in 64
          B =
    """)
    same_results(s, [A, B])


def test_cache_write_makes_a_layout_of_splits_and_orders() -> None:
    A, B, C = added(30)
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    jo, ji = s[C].split(j, factor=8)
    s[C].reorder(jo, i, ji)
    cache = s.cache_write(C, "global")
    assert [int(n) for n in cache.shape] == [4, 30, 8]
    assert [axis.var.name for axis in s[cache].leaf_iter_vars] == ["j.outer.c", "i.c", "j.inner.c"]
    assert [axis.var.name for axis in s[C].leaf_iter_vars] == ["i", "j"]
    same_results(s, [A, B, C])


def test_cache_write_takes_all_outputs_of_one_compute() -> None:
    A = te.placeholder((8, 8), name="A")
    B, C = te.compute((8, 8), lambda i, j: (A[i, j] + 1, A[j, i] * 2), name="B")
    s = te.create_schedule([B.op])
    caches = s.cache_write([B, C], "local")
    assert [cache.op.name for cache in caches] == ["B.local", "B.local"]
    same_results(s, [A, B, C])


def test_cache_write_of_pairs_keeps_them_one_reduction() -> None:
    A = te.placeholder((8, 12), name="A")
    k = te.reduce_axis((0, 12), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])),
        lambda t, u: (te.const(0, t), te.min_value(u)),
        name="both",
    )
    B, C = te.compute((8,), lambda i: both((A[i, k], A[i, k]), axis=k), name="B")
    s = te.create_schedule(B.op)
    caches = s.cache_write([B, C], "local")
    ko, _ = s[caches[0]].split(s[caches[0]].op.reduce_axis[0], factor=5)
    s[caches[0]].compute_at(s[B], B.op.axis[0])
    assert ko.var.name == "k.outer"
    same_results(s, [A, B, C])


def test_set_scope_says_where_results_are_kept() -> None:
    A, B = row_sums()
    C = te.compute((N,), lambda i: B[i] + 10, name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("shared")
    assert s[B].scope == "shared"
    assert lowered(s, [A, C]) == text("""
        B[64] in shared
        for i in 64
          B =
          for k in 64
            B =
        for i in 64
          C =
    """)
    same_results(s, [A, C])


def test_cache_write_of_a_reduction_may_use_the_element() -> None:
    A = te.placeholder((10,), name="A")

    def largest_or_index(n: te.IterVar) -> ls.tir.Expr:
        k = te.reduce_axis((0, n), "k")
        reducer = te.comm_reducer(
            lambda x, y: te.max(te.max(x, y), n.astype("float32")),
            lambda dtype: n.astype(dtype),
            name="largest",
        )
        return reducer(A[k], axis=k)

    B = te.compute((10,), largest_or_index, name="B")
    s = te.create_schedule(B.op)
    cached = s.cache_write(B, "local")
    assert cached.name == "B.local"
    same_results(s, [A, B])


def test_memory_of_threads_is_parted_by_those_around() -> None:
    A = te.placeholder((1, 3, 2), name="A")
    B = te.compute((1, 3, 2), lambda i, j, k: A[i, j, k] * 2, name="B")
    C = te.compute((1, 3, 2), lambda i, j, k: B[i, j, k] + 1, name="C")
    for thread, scope in (("threadIdx.x", "local"), ("vthread", "local"), ("blockIdx.y", "shared")):
        s = te.create_schedule(C.op)
        axis = te.thread_axis(thread)
        s[B].set_scope(scope)
        s[B].compute_at(s[C], C.op.axis[0])
        inner = s[B].split(B.op.axis[1], 3)[1]
        s[B].bind(inner, axis)
        s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
        s[C].bind(C.op.axis[1], axis)
        assert "j.inner in 3" not in lowered(s, [A, C])
        same_results(s, [A, C], compiles=False)


def test_threads_share_out_a_tile_that_each_fills_from_memory_of_its_own() -> None:
    A = te.placeholder((100,), name="A")
    B = te.compute((100,), lambda i: A[i] * 3, name="B")
    C = te.compute((100,), lambda i: B[i] + 2, name="C")
    D = te.compute((100,), lambda i: C[i] + 1, name="D")
    s = te.create_schedule(D.op)
    s[B].set_scope("local")
    s[C].set_scope("shared")
    thread = te.thread_axis("threadIdx.x")
    outer, inner = s[D].split(D.op.axis[0], factor=32)
    s[D].bind(outer, te.thread_axis("blockIdx.x"))
    s[D].bind(inner, thread)
    s[C].compute_at(s[D], inner)
    s[C].bind(s[C].split(C.op.axis[0], nparts=1)[1], thread)
    s[B].compute_at(s[D], inner)
    assert lowered(s, [A, D]) == text("""
        blockIdx.x i.outer in 4
          C[32] in shared
          threadIdx.x i.inner in 32
            B[1] in local
            if i_outer * 32 + i_inner < 100
              B =
            if i_outer * 32 + i_inner < 100
              C =
            if i_outer * 32 + i_inner < 100
              D =
    """)
    same_results(s, [A, D], compiles=False)


def test_prefetch_asks_for_what_a_copy_in_the_loop_reads() -> None:
    A = te.placeholder((16, 8), name="A")
    B = te.compute((16, 8), lambda i, j: A[i, j] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].prefetch(A, B.op.axis[0], 1)
    AA = s.cache_read(A, "global", [B])
    s[AA].compute_at(s[B], B.op.axis[0])
    script = s.to_tir([A, B]).func.script()
    assert "T.prefetch(A[i + 1, 0:8])" in script
    same_results(s, [A, B])


def test_threads_of_a_warp_fill_its_memory_together() -> None:
    A = te.placeholder((64, 8), name="A")
    B = te.compute((64, 8), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((64, 8), lambda i, j: B[i, j] + 3, name="C")
    s = te.create_schedule(C.op)
    lanes = te.thread_axis("threadIdx.x")
    _, inner = s[C].split(C.op.axis[0], 32)
    s[C].bind(inner, lanes)
    s[B].set_scope("warp")
    s[B].compute_at(s[C], C.op.axis[1])
    _, lane = s[B].split(B.op.axis[0], 32)
    s[B].bind(lane, lanes)
    assert lowered(s, [A, C]) == text("""
        for i.outer in 2
          B[32] in warp
          threadIdx.x i.inner in 32
            for j in 8
              B =
              C =
    """)
    same_results(s, [A, C], compiles=False)
