# SPDX-License-Identifier: Apache-2.0
"""What schedules of tensor expressions refuse when they are lowered: decisions that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_te_refusals import Program, scan_stage

import loopsmith as ls
from loopsmith import te


def cycle(p: Program) -> None:
    p.s[p.P].compute_at(p.s[p.B], p.B.op.axis[0])
    p.s[p.B].compute_at(p.s[p.P], p.P.op.axis[0])


def outer_of_fused(p: Program) -> None:
    p.s[p.P].compute_at(p.s[p.C], p.i)
    p.s[p.C].fuse(p.i, p.j)


def marked_then_split(p: Program) -> None:
    p.s[p.C].parallel(p.i)
    p.s[p.C].split(p.i, factor=2)


def threads_do_not_fit(p: Program) -> None:
    p.s[p.C].bind(p.j, te.thread_axis((0, 16), "threadIdx.x"))


def threads_differ(p: Program) -> None:
    p.s[p.C].bind(p.j, p.tx)
    _, inner = p.s[p.B].split(p.B.op.axis[1], factor=4)
    p.s[p.B].bind(inner, p.tx)


LOWERED: list[tuple[Callable[[Program], Any], str, str]] = [
    (
        cycle,
        "is to be computed inside stage P, which is to be computed inside it",
        "say compute_root() of one of them",
    ),
    (
        outer_of_fused,
        "compute_at: stage P is to be computed in each iteration of i of stage C, which was fused "
        "as the outer of two loops",
        "attach it to i.j.fused",
    ),
    (
        lambda p: p.s[p.P].compute_inline(),
        "compute_inline: stage P is a reduction, or no compute: its elements cannot be computed "
        "where they are read",
        "compute it at a loop of what reads it",
    ),
    (
        lambda p: p.s[p.C].vectorize(p.i),
        "vectorize: axis i of stage C has n iterations, which is no constant",
        "split it by a constant, and vectorize the inner loop",
    ),
    (
        marked_then_split,
        "parallel: axis i of stage C is no loop any more when all is done",
        "say it of what the axis has become",
    ),
    (
        threads_do_not_fit,
        "bind: axis j of stage C has 8 iterations, threadIdx.x has 16 threads",
        "split the axis so that it fits",
    ),
    (
        threads_differ,
        "bind: axis j of stage C has 8 iterations, axis j.inner of stage B, which is bound to the "
        "same thread axis, 4",
        "make a thread axis for each",
    ),
    (
        lambda p: p.s[p.B].compute_at(p.s[p.P], p.k),
        "compute_at: B is needed by C, which is not inside loop k of P",
        "s[B].compute_inline()",
    ),
    (
        lambda p: p.s[p.C].set_store_predicate(p.j < 4),
        "would keep elements from being stored",
        "te.if_then_else",
    ),
]


@pytest.mark.parametrize(("call", "problem", "advice"), LOWERED, ids=[r[1][:40] for r in LOWERED])
def test_decisions_that_do_not_fit_together_are_refused_when_lowered(
    call: Callable[[Program], Any], problem: str, advice: str
) -> None:
    p = Program()
    call(p)
    with pytest.raises(ls.ScheduleError) as error:
        p.lower()
    assert problem in str(error.value)
    assert advice in str(error.value)


def test_scans_run_step_by_step() -> None:
    scan = scan_stage().op.output(0)
    result = te.compute((4, 8), lambda i, j: scan[i, j] + 1, name="result")
    s = te.create_schedule(result.op)
    with pytest.raises(ls.ScheduleError) as error:
        s[scan].compute_at(s[result], result.op.axis[0])
    assert "compute_at: stage sums is a scan, which runs step by step" in str(error.value)
    assert "say it of the stages that compute its steps" in str(error.value)
    s[scan].split(scan.op.scan_axis, factor=2)
    with pytest.raises(ls.ScheduleError, match="lower: the axis of scan sums is scheduled"):
        s.to_tir()


def test_a_schedule_is_of_something() -> None:
    with pytest.raises(ls.UserError, match="create_schedule: no operation is given"):
        te.create_schedule([])


def test_a_predicate_that_always_holds_is_met() -> None:
    p = Program()
    p.s[p.C].set_store_predicate(p.j < 8)
    p.lower()
