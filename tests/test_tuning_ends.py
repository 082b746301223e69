# SPDX-License-Identifier: Apache-2.0
"""When a search ends: nothing gets better, time is up, somebody interrupts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from loopsmith.tuning.measure.worker import Outcome, Request
from loopsmith.tuning.search.search import SEARCHES
from test_tuning import Clock, matmul, shorter_is_quicker, twice

import loopsmith as ls
from loopsmith import tir, tuning


def test_an_interrupt_ends_with_the_best_so_far():
    class Interrupted(Clock):
        def run(self, request: Request) -> Outcome:
            if len(self.scripts) == 5:
                raise KeyboardInterrupt
            return super().run(request)

    best = ls.tune(matmul(), trials=50, runner=Interrupted(shorter_is_quicker))
    assert best.was_interrupted and len(best.trials) == 5
    assert best.seconds == min(trial.seconds for trial in best.trials)


def test_the_search_ends_when_nothing_gets_better():
    best = ls.tune(matmul(), trials=100, patience=10, runner=Clock(lambda _: 0.5))
    assert len(best.trials) == 11


class Oracle:
    """A model that knows what `shorter_is_quicker` says, but for a factor."""

    def __init__(self, factors: Sequence[float] = (1.0,)) -> None:
        self._factors = factors
        self._count = 0

    def predict(self, func: Any) -> float:
        self._count += 1
        return shorter_is_quicker(func.script()) * self._factors[self._count % len(self._factors)]


def test_the_search_ends_when_no_candidate_is_expected_to_save_the_regret():
    clock = Clock(shorter_is_quicker)
    target = "llvm -mcpu=znver4"  # Its space has the same points on any machine.
    known = ls.tune(matmul(), target=target, trials=200, regret=0.02, model=Oracle(), runner=clock)
    assert 16 <= len(known.trials) < 60, "all predictions are right: there is nothing to hope for"
    vague = Oracle([0.5 + 0.1 * number for number in range(13)])
    doubtful = ls.tune(matmul(), target=target, trials=30, regret=0.02, model=vague, runner=clock)
    assert len(doubtful.trials) == 30, "any candidate may be quicker than it is predicted"


def test_a_regret_is_a_share_and_needs_a_model():
    with pytest.raises(ls.UserError, match="regret is 5, expected a share of the best time"):
        ls.tune(twice(), regret=5)
    with pytest.raises(ls.UserError, match="no model that predicts times on this target"):
        ls.tune(twice(), target="opencl", regret=0.01)


def test_the_search_ends_in_time():
    best = ls.tune(matmul(), trials=100_000, seconds=1.0)
    assert 0 < len(best.trials) < 100_000
    assert best.trials[-1].elapsed < 5


def test_a_time_that_is_no_number_is_a_failure():
    times = iter([math.nan, 0.5, -1.0, math.inf])
    best = ls.tune(matmul(), trials=4, runner=Clock(lambda _: next(times, 0.5)))
    assert best.failures == {"no time": 3} and best.seconds == 0.5


def test_tiles_whose_size_is_no_number_of_the_loop_end_no_search() -> None:
    func = ls.from_source(
        '@T.prim_func\ndef main(A: T.Buffer((64,), "int32"), n: T.int32):\n'
        "    for i in range(n):\n        A[i] = A[i] + 1\n"
    )

    def tiled(sch: tir.Schedule) -> None:
        loop = sch.get_loop("i")
        for _ in range(4):
            factor = sch.sample_categorical([8, 4096], [0.5, 0.5])
            loop = sch.split(loop, [None, factor])[0]

    search = SEARCHES["random"](tuning.Space(func, tiled), 1)
    assert search.propose() is not None
    while search.propose() is not None:
        pass
    assert any("out of the range of int32" in reason for reason in search.refused), search.refused


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"trials": 0}, "tune: trials is 0, expected 1 candidate or more"),
        ({"seconds": math.nan}, "tune: seconds is nan, expected a time above 0"),
        ({"timeout": 0.0}, "tune: the time of a trial is 0, expected seconds above 0"),
        ({"memory": 0}, "tune: the memory of a trial is 0, expected bytes above 0"),
        ({"patience": 0}, "tune: patience is 0, expected 1 candidate or more"),
        ({"variants": 0}, "tune: variants is 0, expected 1 schedule or more"),
    ],
)
def test_limits_without_a_meaning_are_refused(option: dict[str, Any], said: str):
    with pytest.raises(ls.UserError, match=said):
        ls.tune(matmul(), **option)


def test_sizes_that_a_function_does_not_have_are_refused():
    with pytest.raises(ls.UserError, match="the function has no size n; it has none"):
        ls.tune(matmul(), trials=1, sizes={"n": 4})
