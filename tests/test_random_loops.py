# SPDX-License-Identifier: Apache-2.0
"""Random loops over memory that they change: lowered, scheduled and compiled they do the same.

A name keeps the value that it was bound to, a loop the bounds that it started with, a block the
axes that it was entered with, whatever is written meanwhile. ``LOOPSMITH_FUZZ_CASES`` says how many
programs, ``LOOPSMITH_FUZZ_SEED`` the first of them.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from random_local_sums import LocalSums
from random_loops import SIZE, random_loops
from random_schedules import RandomSteps, changes_parameters

import loopsmith as ls
from loopsmith import tir

CASES = int(os.environ.get("LOOPSMITH_FUZZ_CASES", "300"))
FIRST = int(os.environ.get("LOOPSMITH_FUZZ_SEED", "0"))
GROUPS = 5
STEPS = 6


def run(what: tir.PrimFunc | ls.Module, seed: int) -> np.ndarray:
    """Return what a function makes of A and B."""
    numbers = np.random.default_rng(seed)
    arrays = numbers.integers(0, 9, (2, SIZE), dtype="int32")
    if isinstance(what, tir.PrimFunc):
        ls.interp.run(what, arrays[0], arrays[1], 3)
    else:
        what(arrays[0], arrays[1], 3)
    return arrays


def scheduled(rng: random.Random, func: tir.PrimFunc) -> tir.Schedule:
    """Return a schedule after random steps."""
    sch = tir.Schedule(func)
    steps = RandomSteps(rng, skip=frozenset({"bind"}))
    for _ in range(STEPS):
        name, arguments = steps.draw(sch)
        loops = arguments.pop("loops", ())
        try:
            getattr(sch, name)(*loops, **arguments)
        except ls.UserError:
            continue
        if changes_parameters(func, sch.func):
            sch.undo()  # What callers pass is another thing now: nothing to compare.
    return sch


# What is bound before memory changes: names, bounds, axes, conditions; each was wrong once.
PROGRAMS = {
    "swap": """
for i in range(8):
    t = A[i]
    A[i] = A[15 - i]
    A[15 - i] = t
""",
    "rotate": """
first = A[0]
for i in range(15):
    A[i] = A[i + 1]
A[15] = first
""",
    "sort": """
for i in range(16):
    for j in range(15 - i):
        if A[j] > A[j + 1]:
            t = A[j]
            A[j] = A[j + 1]
            A[j + 1] = t
""",
    "greatest common divisors": """
for i in range(16):
    a: T.int32 = A[i] * 6 + 12
    b: T.int32 = B[i] * 4 + 8
    while b != 0:
        t = a % b
        a = b
        b = t
    A[i] = a
""",
    "the start of one iteration": """
for i in range(A[0], A[0] + 1):
    A[0] = 5
    B[i] = B[i] + i
""",
    "the end of a loop": """
for i in range(A[0] + 3):
    A[0] = 1
    if i < A[0] + 3:
        B[i] = B[i] + i
""",
    "an axis": """
for i in range(16):
    with T.block("b"):
        v = T.axis.opaque(64, A[i])
        w = T.axis.spatial(16, i)
        A[w] = v + 1
        B[w] = v
""",
    "a bound of an inner loop": """
for i in range(6):
    for j in range(A[i + 3], A[i + 3] + 3):
        if i < j:
            A[3 + i] = i
            B[i] = B[i] + 1
""",
    "a region that a variable decides": """
for i in range(4):
    with T.block("b"):
        v = T.axis.spatial(4, i)
        x: T.int32 = A[v]
        x = x + 1
        B[x % 16] = v
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_bound_keeps_its_value(name: str):
    lines = "\n".join("    " + line for line in PROGRAMS[name].strip().splitlines())
    head = f'A: T.Buffer(({SIZE},), "int32"), B: T.Buffer(({SIZE},), "int32"), n: T.int32'
    func = ls.from_source(f"@T.prim_func\ndef main({head}):\n{lines}\n")
    for seed in range(5):
        expected = run(func, seed)
        np.testing.assert_array_equal(run(ls.lower(func), seed), expected)
        np.testing.assert_array_equal(run(ls.build(func), seed), expected)


def test_a_search_in_each_iteration_runs_in_parallel():
    func = ls.from_source("""@T.prim_func
def search(A: T.Buffer((100,), "float32"), V: T.Buffer((64,), "float32"),
           R: T.Buffer((64,), "int32")):
    for i in range(64):
        low: T.int32 = 0
        high: T.int32 = 100
        while low < high:
            middle = (low + high) // 2
            if A[middle] < V[i]:
                low = middle + 1
            else:
                high = middle
        R[i] = low
""")
    sch = tir.Schedule(func)
    sch.parallel(sch.get_loop("i"))
    assert sch.verify()
    numbers = np.random.default_rng(0)
    a, v = np.sort(numbers.random(100, "float32")), numbers.random(64, "float32")
    found = np.zeros(64, "int32")
    ls.build(sch)(a, v, found)
    np.testing.assert_array_equal(found, np.searchsorted(a, v))


def test_a_loop_that_is_left_is_not_run_in_parallel():
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in range(1):
        if A[0] > 3:
            break
        A[1] = 2
""")
    with pytest.raises(
        ls.ScheduleError, match="a break or return ends loop i, or an iteration of it, early"
    ):
        sch = tir.Schedule(func)
        sch.parallel(sch.get_loop("i"))


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_loops_do_the_same_lowered_scheduled_and_compiled(group: int):
    for seed in range(FIRST + group, FIRST + CASES, GROUPS):
        rng = random.Random(seed)
        text = random_loops(rng)
        func = ls.from_source(text)
        expected = run(func, seed)
        np.testing.assert_array_equal(run(ls.lower(func), seed), expected, f"{seed}: lowered")
        np.testing.assert_array_equal(run(ls.build(func), seed), expected, f"{seed}: compiled")
        sch = scheduled(rng, func)
        try:
            np.testing.assert_array_equal(run(sch.func, seed), expected, f"{seed}: scheduled")
            module = ls.build(sch)
        except ls.LowerError:
            continue  # A loop to be unrolled that is too long.
        np.testing.assert_array_equal(run(module, seed), expected, f"{seed}: scheduled, compiled")


@pytest.mark.parametrize("group", range(GROUPS))
def test_sums_into_scalars_are_the_same_by_default(group: int):
    in_lanes = 0
    for seed in range(FIRST + group, FIRST + CASES, GROUPS):
        program = LocalSums(seed)
        text = program.text()
        func = ls.from_source(text)
        sch = ls.default_schedule(func)
        in_lanes += "vectorize" in str(sch.trace)
        expected = program.arrays()
        found = [each.copy() for each in expected]
        with np.errstate(all="ignore"):
            ls.build(func, default_schedule=False)(*expected)
            ls.build(func)(*found)
        if program.dtype.startswith("float"):
            # Sums may be regrouped; whole numbers are exact up to a size, and grow by products.
            if np.abs(expected[2]).max() < 2**20:
                np.testing.assert_array_equal(found[2], expected[2], text)
        else:
            np.testing.assert_array_equal(found[2], expected[2], text)
    assert in_lanes * GROUPS > CASES // 4
