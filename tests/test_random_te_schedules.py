# SPDX-License-Identifier: Apache-2.0
"""Random decisions about random graphs: what is accepted computes the same."""

from __future__ import annotations

import random

import pytest
from random_te_schedules import decide, graph

import loopsmith as ls
from loopsmith import te

ROUNDS = 40


@pytest.mark.parametrize("block", range(10))
def test_what_is_accepted_computes_the_same(block: int) -> None:
    accepted = 0
    for seed in range(block * ROUNDS, (block + 1) * ROUNDS):
        draw = random.Random(seed)
        inputs, stages = graph(draw)
        args = [*inputs, stages[-1]]
        s = te.create_schedule(stages[-1].op)
        said = []
        for _ in range(draw.randint(1, 9)):
            try:
                said.append(decide(draw, s))
            except ls.ScheduleError:
                continue  # Refused by the call: the schedule is as it was.
        try:
            func = s.to_tir(args).func
        except ls.ScheduleError:
            continue
        accepted += 1
        try:
            ls.assert_same(func, te.create_prim_func(args))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {said}\n{error}") from None
    assert accepted > ROUNDS // 3
