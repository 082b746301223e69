# SPDX-License-Identifier: Apache-2.0
"""Loops that run in threads under a condition on sizes."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import from_source


def doubled(*shape: int):
    n, m = shape or (te.size_var("n"), te.size_var("m"))
    A = te.placeholder((n, m), name="A")
    return n, m, te.create_prim_func([A, te.compute((n, m), lambda i, j: A[i, j] * 2, name="B")])


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_the_condition_changes_no_result(target: str):
    n, m, func = doubled()
    sch = tir.Schedule(func)
    sch.parallel("i", condition=n * m >= 1000)
    module = ls.build(sch, target=target)
    for shape in [(0, 3), (7, 3), (50, 20), (300, 40)]:
        a = np.random.default_rng(0).random(shape, "float32")
        b = np.empty_like(a)
        module(a, b)
        np.testing.assert_array_equal(b, a * 2)


def test_the_condition_is_part_of_the_trace_and_of_the_script():
    n, m, func = doubled()
    sch = tir.Schedule(func)
    sch.parallel("i", condition=tir.Cast("int64", n) * m >= 1000)
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    assert str(again.func) == str(sch.func)
    names: dict[str, object] = {}
    exec(str(sch.trace), {"tir": tir}, names)
    by_python = tir.Schedule(func)
    names["apply_trace"](by_python)
    assert str(by_python.func) == str(sch.func)
    ls.assert_structural_equal(from_source(sch.func.script()), sch.func)


def test_conditions_that_sizes_do_not_decide_are_refused():
    n, _, func = doubled()
    sch = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError, match="reads i, no size of the function"):
        sch.parallel("j", condition=sch.get(sch.get_loops("B")[0]).loop_var > 3)
    with pytest.raises(ls.ScheduleError, match="is n, of type int32"):
        sch.parallel("j", condition=n)


def test_default_schedules_ask_for_sizes():
    def loops(*shape: int) -> str:
        return str(ls.default_schedule(doubled(*shape)[2]).func)

    assert "parallel_if" in loops()
    assert "T.parallel" in loops(1000, 1000)
    assert "parallel_if" not in loops(1000, 1000)
    assert "T.parallel" not in loops(10, 10)
