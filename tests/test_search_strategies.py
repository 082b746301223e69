# SPDX-License-Identifier: Apache-2.0
"""Which candidates come next: the searches that have a name, and one of one's own."""

from __future__ import annotations

import re
from typing import Any

import pytest
from loopsmith.tuning.search.search import SEARCHES
from test_tuning import Clock, matmul, shorter_is_quicker, twice

import loopsmith as ls
from loopsmith import tir, tuning


def four_choices(sch: tir.Schedule) -> None:
    """Sample four of 32 values each: 2^20 points."""
    (loop,) = sch.get_loops("B")
    for number in range(4):
        choice = sch.sample_categorical(list(range(32)), [1 / 32] * 32)
        sch.annotate(loop, f"choice{number}", choice)


def distance(script: str) -> float:
    """Return how far the choices are from the best point, in seconds."""
    choices = [int(found) for found in re.findall(r'"choice\d": (\d+)', script)]
    assert len(choices) == 4
    return 1e-3 * (1 + sum(abs(choice - 7) for choice in choices))


class Knowing:
    """A model that knows the distance."""

    def predict(self, func: Any) -> float:
        return distance(func.script())


@pytest.mark.parametrize("search", SEARCHES)
def test_the_same_seed_gives_the_same_search(search: str):
    searches = [Clock(shorter_is_quicker) for _ in range(2)]
    for clock in searches:
        ls.tune(matmul(), trials=30, seed=5, runner=clock, search=search)
    assert searches[0].scripts == searches[1].scripts
    assert len(set(searches[0].scripts)) == 30, "a program was measured twice"


def test_walks_that_a_model_leads_go_far_between_two_measurements():
    found = {
        search: ls.tune(
            twice(), space=four_choices, trials=20, runner=Clock(distance), model=Knowing(),
            search=search,
        ).seconds
        for search in ("annealed", "random")
    }  # fmt: skip
    assert found["annealed"] < 0.5 * found["random"]


def test_a_search_of_ones_own_says_what_comes_next():
    class Descent(tuning.Search):
        """Changes the quickest one alone."""

        def next_candidates(self) -> list[tuning.Candidate]:
            pool = self.bred(self.quickest[:1], [], self.batch_size)
            return self.chosen(pool, [])

    best = ls.tune(twice(), space=four_choices, trials=200, runner=Clock(distance), search=Descent)
    assert best.seconds < 0.02 and len(best.trials) == 200


def test_an_unknown_search_is_refused():
    with pytest.raises(ls.UserError) as caught:
        ls.tune(twice(), search="greedy")
    assert str(caught.value) == (
        "tune: search is 'greedy'\n"
        '  hint: pass "evolutionary", "annealed", "random" or a subclass of loopsmith.tuning.Search'
    )
