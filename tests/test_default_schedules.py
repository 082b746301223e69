# SPDX-License-Identifier: Apache-2.0
"""The default schedule is a schedule: it shows its steps, replays, goes on, and keeps results."""

from __future__ import annotations

import numpy as np
import pytest
from random_programs import random_program

import loopsmith as ls
from loopsmith import te, tir


def scaled(*shape: int):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) * 2, name="B")
    C = te.compute(shape, lambda *i: B(*i) + 1, name="C")
    return te.create_prim_func([A, C])


def replayed(sch: tir.Schedule, func: tir.PrimFunc) -> tir.Schedule:
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    return again


def test_the_default_schedule_shows_its_steps():
    sch = ls.default_schedule(scaled(1000, 1000))
    text = str(sch.trace)
    for step in ("compute_inline", "fuse", "split", "parallel", "vectorize"):
        assert f"sch.{step}(" in text


def test_the_trace_is_python_that_makes_the_same_program():
    func = scaled(100, 333)
    sch = ls.default_schedule(func)
    names: dict = {}
    exec(str(sch.trace), {"tir": tir, "T": ls.script.tir, "__name__": "trace"}, names)
    again = tir.Schedule(func)
    names["apply_trace"](again)
    ls.assert_structural_equal(again.mod, sch.mod)
    ls.assert_structural_equal(replayed(sch, func).mod, sch.mod)


def test_the_default_schedule_may_be_continued():
    func = scaled(64, 1000)
    sch = ls.default_schedule(func)
    block = sch.get_block("C")
    sch.annotate(sch.get_loops(block)[0], "mine", 1)
    a = np.random.rand(64, 1000).astype("float32")
    c = np.empty_like(a)
    ls.build(sch)(a, c)
    np.testing.assert_allclose(c, a * 2 + 1, rtol=1e-6)


def test_numbers_may_be_left_open():
    func = scaled(1000, 1000)
    sch = ls.default_schedule(func, holes=True)
    assert "sample_categorical" in str(sch.trace)
    closed = ls.default_schedule(func)
    assert [str(s) for s in closed.func.script().splitlines()] == sch.func.script().splitlines()


def test_a_gpu_has_no_rules_that_take_steps():
    with pytest.raises(ls.ScheduleError, match="default_schedule: target opencl is a GPU"):
        ls.default_schedule(scaled(8), target="opencl")


def test_a_schedule_has_no_default_schedule():
    sch = tir.Schedule(scaled(8))
    with pytest.raises(ls.TypeMismatch, match="default_schedule: x is a Schedule, not a function"):
        ls.default_schedule(sch)
