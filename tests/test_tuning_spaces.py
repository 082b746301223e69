# SPDX-License-Identifier: Apache-2.0
"""The generated space: whatever it draws for whatever program computes what the program does.

``LOOPSMITH_FUZZ_CASES`` says how many random programs, ``LOOPSMITH_FUZZ_SEED`` the first of them.
"""

from __future__ import annotations

import os
import random
import runpy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from gpu_devices import has_opencl
from random_loops import random_loops
from random_programs import RandomProgram

import loopsmith as ls
from loopsmith import te, tir, tuning

CASES = int(os.environ.get("LOOPSMITH_FUZZ_CASES", "60"))
FIRST = int(os.environ.get("LOOPSMITH_FUZZ_SEED", "0"))
GROUPS = 5
DRAWS = 4
TRIALS = 32
LONG_TAIL = runpy.run_path(str(ROOT / "examples" / "long_tail" / "programs.py"))["PROGRAMS"]


def check_space(
    func: Any, seed: int, draws: int, steps: Callable[[Any], None] = tuning.generated
) -> int:
    """Draw schedules of a program and compare each with it; return how many were legal."""
    space = tuning.Space(func, steps)
    rng = random.Random(seed)
    legal = 0
    for _ in range(draws):
        try:
            sch = space.draw(rng)
        except ls.ScheduleError:
            continue
        legal += 1
        found = sch.verify()
        assert found.answer != "different", f"{found.reason}\n{sch.trace}\n{func.script()}"
        again = tir.Schedule(func)
        sch.trace.apply_to_schedule(again)
        ls.assert_structural_equal(again.func, sch.func)
    return legal


def product_of_rows() -> Any:
    a, b = te.placeholder((12, 20), name="A"), te.placeholder((32, 20), name="B")
    k = te.reduce_axis((0, 20), name="k")
    return te.create_prim_func(
        [a, b, te.compute((12, 32), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")]
    )


def matmul() -> Any:
    a = te.placeholder((12, 20), name="A")
    b = te.placeholder((20, 24), name="B")
    k = te.reduce_axis((0, 20), name="k")
    return te.create_prim_func(
        [a, b, te.compute((12, 24), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    )


def convolution() -> Any:
    a = te.placeholder((2, 4, 10, 11), name="A")
    w = te.placeholder((6, 4, 3, 3), name="W")
    c, y, x = (te.reduce_axis((0, n), name=name) for n, name in ((4, "c"), (3, "y"), (3, "x")))
    return te.create_prim_func(
        [
            a,
            w,
            te.compute(
                (2, 6, 8, 9),
                lambda n, f, i, j: te.sum(a[n, c, i + y, j + x] * w[f, c, y, x], axis=[c, y, x]),
                name="C",
            ),
        ]
    )


def softmax() -> Any:
    a = te.placeholder((6, 40), name="A")
    k, m = te.reduce_axis((0, 40), name="k"), te.reduce_axis((0, 40), name="m")
    top = te.compute((6,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute((6, 40), lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((6,), lambda i: te.sum(power[i, m], axis=m), name="total")
    return te.create_prim_func(
        [a, te.compute((6, 40), lambda i, j: power[i, j] / total[i], name="B")]
    )


def total() -> Any:
    a = te.placeholder((1000,), name="A")
    k = te.reduce_axis((0, 1000), name="k")
    return te.create_prim_func([a, te.compute((1,), lambda i: te.sum(a[k], axis=k), name="B")])


def transpose() -> Any:
    a = te.placeholder((20, 30), name="A")
    return te.create_prim_func([a, te.compute((30, 20), lambda i, j: a[j, i], name="B")])


@pytest.mark.parametrize("make", [matmul, product_of_rows, convolution, softmax, total, transpose])
def test_draws_of_kernels_are_right(make: Callable[[], Any]):
    assert check_space(make(), seed=1, draws=12) >= 8


@pytest.mark.parametrize("make", [matmul, convolution, softmax, total, transpose])
def test_draws_for_gpus_are_right(make: Callable[[], Any]):
    """The interpreter runs them with all their threads, and races are errors to it."""
    assert check_space(make(), 2, 10, tuning.generated_for_gpu) >= 6


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(CASES // 5, 1)))
def test_draws_for_gpus_of_random_programs_are_right(seed: int):
    check_space(random_program(seed), seed, 2, tuning.generated_for_gpu)


@pytest.mark.skipif(not has_opencl(), reason="no driver for OpenCL")
def test_a_product_is_tuned_for_a_gpu():
    best = ls.tune(matmul(), target="opencl", trials=6, seed=1)
    assert best.check == "compared with the program without a schedule"
    assert len(best.trials) == 6 and not set(best.failures) - {"compile error"}, best.failures
    bound = {axis for axis in ("blockIdx.x", "threadIdx.x") if axis in best.schedule.func.script()}
    assert bound == {"blockIdx.x", "threadIdx.x"}
    left, right = np.random.rand(12, 20).astype("f4"), np.random.rand(20, 24).astype("f4")
    found = np.zeros((12, 24), "f4")
    best.build()(left, right, found)
    np.testing.assert_allclose(found, left @ right, rtol=1e-5)


PLAIN_PROGRAMS = {
    "starts_at_one": """
    for i_ in range(1, 100):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = A[i] + T.float32(1)
""",
    "prefix_sum": """
    B[0] = T.float32(0)
    for i_ in range(99):
        with T.block("block"):
            i = T.axis.remap("R", [i_])
            B[i + 1] = B[i] + A[i + 1]
""",
    "in_place": """
    for i_ in range(100):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = B[i] + A[i]
""",
    "mixed_nest": """
    for i in range(10):
        if i % 2 == 0:
            for j in range(10):
                with T.block("even"):
                    B[i * 10 + j] = A[j]
        else:
            for j in range(10):
                with T.block("odd"):
                    B[i * 10 + j] = A[j] * T.float32(2)
""",
}
"""What schedule languages refuse, each in its smallest form."""


@pytest.mark.skipif(not has_opencl(), reason="no driver for OpenCL")
@pytest.mark.parametrize("name", PLAIN_PROGRAMS)
def test_programs_of_any_form_are_tuned_for_a_gpu(name: str):
    head = 'def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):'
    func = ls.from_source(f"@T.prim_func\n{head}{PLAIN_PROGRAMS[name]}")
    best = ls.tune(func, target="opencl", trials=6, seed=1)
    assert not best.failures, best.failures
    given = np.random.rand(2, 100).astype("f4")
    expected, found = given.copy(), given.copy()
    ls.interp.run(func, *expected)
    best.build()(*found)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_numbers_of_the_default_schedule_are_searched_beside_the_generated_space():
    a = te.placeholder((40, 52), name="A")
    func = te.create_prim_func([a, te.compute((40, 52), lambda i, j: te.exp(a[i, j]), name="B")])
    default = ls.default_schedule(func, holes=True)
    space = tuning.Space(func, tuning.WithDefault(func, "llvm -mcpu=native", None))
    rng = random.Random(1)
    by_rule = []
    for _ in range(40):
        sch = space.draw(rng)
        assert sch.verify().answer != "different"
        if sch.get(sch.trace.insts[0].outputs[0]) == 0:
            by_rule.append(sch.trace)
    assert 5 <= len(by_rule) <= 35
    steps = [[str(inst.kind) for inst in trace.insts] for trace in by_rule]
    assert all(each[1:] == [str(inst.kind) for inst in default.trace.insts] for each in steps)
    decided = {tuple(value for _, value in tuning.decisions_of(trace)) for trace in by_rule}
    assert len(decided) > 1, "its samples are drawn anew"
    # Changed decisions lead to the same steps with other numbers.
    found = tuning.mutated(by_rule[0], rng)
    again = space.made(7, found or ())
    assert tuning.decisions_of(again.trace) == found or again.trace.get_decision(0) == 1


class DefaultIsQuickest:
    """Measures the default schedule slowly by itself, and beside others as the quickest."""

    def __init__(self, default: Any) -> None:
        self.default = ls.structural_hash(default)

    def run(self, request: Any) -> tuning.Outcome:
        if isinstance(request, tuning.Check):
            return tuning.Outcome()
        scheduled = getattr(request, "scheduled", None)
        is_default = scheduled is not None and self.default in (
            ls.structural_hash(scheduled),
            ls.structural_hash(scheduled.without_attr("tir.is_scheduled")),
        )
        if isinstance(request, tuning.Duel):
            return tuning.Outcome([1e-3 if is_default else 2e-3] * 5, [1e-3] * 5)
        return tuning.Outcome([3e-3 if is_default else 2e-3] * 5)


def test_a_search_starts_with_the_default_schedule_and_falls_back_to_it():
    func = matmul()
    default = ls.default_schedule(func).func
    best = ls.tune(func, trials=12, runner=DefaultIsQuickest(default))
    first = tir.Schedule(func)
    best.trials[0].trace.apply_to_schedule(first)
    ls.assert_structural_equal(first.func, default)
    ls.assert_structural_equal(best.schedule.func, default)
    assert best.speedup == 1 and not best.is_quicker


def test_copies_may_have_side_by_side_what_the_lanes_of_a_vector_read():
    func = product_of_rows()
    space, rng = tuning.Space(func, tuning.generated), random.Random(2)
    panels, turned = 0, 0
    for _ in range(60):
        sch = space.draw(rng)
        if "transform_layout" not in str(sch.trace):
            continue
        shapes = [len(each.shape) for each in sch.get(sch.get_block("root")).alloc_buffers]
        panels += 3 in shapes
        turned += 3 not in shapes
        assert sch.verify().answer != "different"
    assert panels and turned


def test_a_default_schedule_without_samples_is_drawn_seldom():
    func = total()
    default = ls.default_schedule(func, "c", holes=True)
    space = tuning.Space(func, tuning.WithDefault(func, "c", None))
    rng = random.Random(4)
    draws = [space.draw(rng).trace for _ in range(80)]
    chosen = sum(trace.get_decision(0) == 0 for trace in draws)
    assert (1 <= chosen <= 20) == (not tuning.decisions_of(default.trace))
    first = space.made(1, space.steps.starts[0])
    ls.assert_structural_equal(first.func, default.func)


@pytest.mark.parametrize("name", list(LONG_TAIL))
def test_programs_that_no_schedule_language_takes_have_a_space(name: str):
    assert check_space(LONG_TAIL[name].func, seed=1, draws=3) >= 1


def random_program(seed: int) -> Any:
    rng = random.Random(seed)
    text = RandomProgram(rng).text() if seed % 3 else random_loops(rng)
    return ls.from_source(text)


@pytest.mark.parametrize("group", range(GROUPS))
def test_draws_of_random_programs_are_right(group: int):
    for seed in range(FIRST + group, FIRST + CASES, GROUPS):
        check_space(random_program(seed), seed, DRAWS)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(CASES // 50, 2)))
def test_random_programs_are_tuned_without_a_crash_or_a_wrong_winner(seed: int):
    """Each candidate's results were compared; none may be another's, and none may crash."""
    func = random_program(seed)
    try:
        best = ls.tune(func, trials=TRIALS if CASES > 100 else 6, seed=seed)
    except ls.UserError as error:
        # Of random programs, some leave their arrays, and say so without a schedule, too.
        assert "program_runs" in str(getattr(error, "condition", "")), error
        return
    assert set(best.failures) <= {"compile error"}, best.failures
    assert best.schedule.verify().answer != "different"
