# SPDX-License-Identifier: Apache-2.0
"""Reductions in schedules of tensor expressions: parts of them, threads, the thread that stores."""

from __future__ import annotations

import numpy as np
import pytest
from te_outline import lowered, same_results, text
from test_te_primitives import row_sums, total

import loopsmith as ls
from loopsmith import te


def test_bind_of_a_reduction_to_blocks_of_threads_is_refused() -> None:
    """Blocks do not wait for each other, so they cannot add into one element."""
    A, B = total()
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(s[B].op.reduce_axis[0], factor=32)
    s[B].bind(ko, te.thread_axis("blockIdx.x"))
    s[B].bind(ki, te.thread_axis("threadIdx.x"))
    with pytest.raises(
        ls.ScheduleError, match=r"bind: results would change: loop k\.outer is a reduction"
    ):
        ls.lower(s, [A, B])


def test_bind_of_a_reduction_to_threads_combines_their_results() -> None:
    A, B = total()
    s = te.create_schedule(B.op)
    _, ki = s[B].split(s[B].op.reduce_axis[0], factor=16)
    s[B].bind(ki, te.thread_axis("threadIdx.x"))
    same_results(s, [A, B], compiles=False)
    assert "threadIdx.x" in lowered(s, [A, B])


def test_parallel_over_a_reduction_gives_each_thread_partial_results() -> None:
    A, B = row_sums()
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.reduce_axis[0])
    lines = lowered(s, [A, B])
    # No two threads add into one element of B.
    assert lines == text("""
        for i in 64
          B =
          B_parts[8] in global
          parallel k_part in 8
            B_parts =
            for k_in_part in 8
              B_parts =
          for row in 8
            B =
    """)
    same_results(s, [A, B])


def test_rfactor_makes_partial_results_of_an_inner_loop() -> None:
    A, B = total()
    s = te.create_schedule(B.op)
    _, ki = s[B].split(s[B].op.reduce_axis[0], 32)
    BR = s.rfactor(B, ki)
    assert BR.op.name == "B.rf"
    assert [int(n) for n in BR.shape] == [32, 1]
    assert [axis.var.name for axis in s[BR].leaf_iter_vars] == ["k.inner", "i", "k.outer"]
    assert [axis.var.name for axis in s[B].leaf_iter_vars] == ["ax0", "k.inner.v"]
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


@pytest.mark.parametrize(("factor", "factor_axis"), [(5, 0), (7, 1), (64, -1), (1, -2)])
def test_rfactor_guards_what_does_not_divide(factor: int, factor_axis: int) -> None:
    A, B = row_sums(20)
    s = te.create_schedule(B.op)
    ko, _ = s[B].split(s[B].op.reduce_axis[0], factor=factor)
    BF = s.rfactor(B, ko, factor_axis)
    assert len(BF.shape) == 2
    same_results(s, [A, B])


def test_rfactor_of_pairs_gives_a_tensor_for_each() -> None:
    A = te.placeholder((8, 12), name="A")
    k = te.reduce_axis((0, 12), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])),
        lambda t, u: (te.const(0, t), te.min_value(u)),
        name="both",
    )
    B, C = te.compute((8,), lambda i: both((A[i, k], A[i, k]), axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=4)
    first, second = s.rfactor(B, ki)
    assert first.op.same_as(second.op)
    s[first].compute_at(s[B], s[B].op.axis[0])
    same_results(s, [A, B, C])


def test_rfactor_of_a_whole_reduction_leaves_one_value_each() -> None:
    A, B = row_sums(12)
    s = te.create_schedule(B.op)
    BF = s.rfactor(B, B.op.reduce_axis[0])
    assert [int(n) for n in BF.shape] == [12, 12]
    same_results(s, [A, B])


def test_a_store_predicate_of_an_unbound_thread_is_refused() -> None:
    A, B = total()
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    tx = te.thread_axis("threadIdx.x")
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    before = lowered(s, [A, B])
    assert "for k.inner.v in 16" in before
    s[B].set_store_predicate(tx.var == 0)
    with pytest.raises(ls.ScheduleError) as error:
        ls.lower(s, [A, B])
    assert (
        "of stage B speaks of threadIdx.x, which is neither one of its axes nor a thread that one "
        "of them is bound to"
    ) in str(error.value)
    assert "bind an axis of the stage to that thread" in str(error.value)


def test_a_store_predicate_of_the_thread_that_holds_the_result_is_met() -> None:
    A, B = total()
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(ki, tx)
    bound = lowered(s, [A, B])
    s[B].set_store_predicate(tx.var == 0)
    assert lowered(s, [A, B]) == bound
    s[B].set_store_predicate(tx.var == 20)
    with pytest.raises(ls.ScheduleError, match="would keep elements from being stored"):
        ls.lower(s, [A, B])


@pytest.mark.parametrize("columns", [0, 5, 37])
def test_partial_results_of_any_size_are_computed_where_they_are_combined(columns: int) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=16)
    partial = s.rfactor(B, ki)
    s[partial].compute_at(s[B], s[B].op.reduce_axis[0])
    given = np.arange(3 * columns, dtype=np.float32).reshape(3, columns)
    out = np.full(3, 7, np.float32)
    ls.build(s, [A, B], "llvm")(given, out)
    np.testing.assert_array_equal(out, given.sum(axis=1))


def test_the_ends_of_a_reduction_may_depend_on_the_element() -> None:
    X = te.placeholder((10,), name="X")

    def sums(step: int) -> te.Tensor:
        def element(i: te.Expr) -> te.Expr:
            k = te.reduce_axis((i // 2, i * step), name="k")
            return te.sum(X[k % 10], axis=k)

        return te.compute((10,), element, name="Y")

    x = np.arange(1, 11, dtype="float32")
    for step in (0, 1, 2):
        Y = sums(step)
        s = te.create_schedule(Y.op)
        s[Y].split(Y.op.axis[0], factor=3)
        expected = [sum(x[k % 10] for k in range(i // 2, i * step)) for i in range(10)]
        for program in (ls.build([X, Y]), ls.build(s, [X, Y])):
            out = np.full(10, np.nan, "float32")
            program(x, out)
            np.testing.assert_array_equal(out, np.array(expected, "float32"))
