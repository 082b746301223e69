# SPDX-License-Identifier: Apache-2.0
"""Random steps on blocks that share loops and overwrite what others of them read.

``LOOPSMITH_FUZZ_CASES`` says how many random programs, ``LOOPSMITH_FUZZ_SEED`` the first of them.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from random_feedback import MARGIN, SIZE, random_feedback
from random_schedules import RandomSteps, changes_parameters

import loopsmith as ls
from loopsmith import _core, tir

CASES = int(os.environ.get("LOOPSMITH_FUZZ_CASES", "1200"))
FIRST = int(os.environ.get("LOOPSMITH_FUZZ_SEED", "0"))
GROUPS = 6
STEPS = 4

MOVING = frozenset(
    one["name"]
    for one in _core.primitives()
    if any(condition["code"] == "step_keeps_results" for condition in one["conditions"])
) - {"bind"}
"""What may change the order of reads and writes, and runs on a processor."""
OTHERS = frozenset(one["name"] for one in _core.primitives()) - MOVING


def take_steps(sch: tir.Schedule, steps: RandomSteps) -> set[str]:
    """Take some steps; return which were accepted."""
    accepted = set()
    for _ in range(STEPS):
        name, arguments = steps.draw(sch)
        loops = arguments.pop("loops", ())
        func = sch.func
        try:
            getattr(sch, name)(*loops, **arguments)
        except ls.UserError:
            continue
        if changes_parameters(func, sch.func):
            sch.undo()
        else:
            accepted.add(name)
    return accepted


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_is_accepted_computes_the_same(group: int):
    accepted = set()
    for seed in range(FIRST + group, FIRST + CASES, GROUPS):
        rng = random.Random(seed)
        func = random_feedback(rng)
        sch = tir.Schedule(func, seed=seed + 1)
        taken = take_steps(sch, RandomSteps(rng, skip=OTHERS))
        accepted |= taken
        if not taken:
            continue
        verdict = sch.verify()
        if not verdict:
            pytest.fail(f"seed {seed}: {verdict}\n{func.script()}\n{sch.trace}\n{sch.mod.script()}")
        if seed % 5 or func.buffer_map[func.params[0]].dtype != "uint32":
            continue
        numbers = np.random.default_rng(seed)
        sizes = [int(n) for n in numbers.choice([0, 1, 4, SIZE], len(func.params) - 3)]
        wide = (sum(sizes) if sizes else SIZE) + 2 * MARGIN
        expected = [
            numbers.integers(0, 1 << 32, shape, "uint32")
            for shape in ((wide, wide), (wide, wide), (wide,))
        ]
        actual = [array.copy() for array in expected]
        ls.interp.run(func, *expected, *sizes)
        ls.build(sch)(*actual, *sizes)
        for one, other in zip(expected, actual):
            np.testing.assert_array_equal(other, one, f"seed {seed}\n{func.script()}\n{sch.trace}")
    assert len(accepted) > len(MOVING) // 2
