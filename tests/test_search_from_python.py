# SPDX-License-Identifier: Apache-2.0
"""What a search calls of Python: spaces, models, mutators, and a strategy of one's own."""

from __future__ import annotations

import os
import random
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from test_tuning import Clock, matmul, shorter_is_quicker, tiled, twice

import loopsmith as ls
from loopsmith import tir, tuning

TARGET = ls.Target("llvm -mcpu=native")


def proposed(search: tuning.Search, count: int) -> list[tuning.Candidate]:
    found = [search.propose() for _ in range(count)]
    return [each for each in found if each is not None]


def choices(sch: tir.Schedule) -> None:
    """Sample three of 100 values each: a million points."""
    for number in range(3):
        choice = sch.sample_categorical(list(range(100)), [0.01] * 100)
        sch.annotate(sch.get_loops("B")[0], f"choice{number}", choice)


def test_a_schedule_that_a_space_keeps_stays_whole():
    kept: list[tir.Schedule] = []

    def keeping(sch: tir.Schedule) -> None:
        tiled(sch)
        kept.append(sch)

    search = tuning.EvolutionarySearch(tuning.Space(matmul(), keeping), 1)
    candidates = proposed(search, 5)
    assert len(candidates) == 5 and len(kept) >= 5
    programs = {tuning.Candidate(sch).key for sch in kept}
    assert {each.key for each in candidates} <= programs
    kept[0].parallel(kept[0].get_loops("C")[0])
    assert kept[0].verify()


def test_handles_that_a_space_keeps_stay_of_its_schedule():
    kept: list[Any] = []

    def keeping(sch: tir.Schedule) -> None:
        kept.append((sch.get_block("C"), weakly(sch)))
        tiled(sch)

    def weakly(sch: tir.Schedule) -> Callable[[], int]:
        return lambda: len(sch.trace)

    space = tuning.Space(matmul(), keeping)
    made = space.made(3)
    assert len(made.trace) == kept[0][1]() > 1


def test_errors_of_a_space_that_are_no_refusals_arrive_as_they_were_raised():
    class Mistake(Exception):
        pass

    def wrong(sch: tir.Schedule) -> None:
        raise Mistake("in the space")

    search = tuning.RandomSearch(tuning.Space(matmul(), wrong), 1)
    with pytest.raises(Mistake, match="in the space") as caught:
        search.propose()
    assert "wrong" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_refusals_of_a_space_are_counted_and_drawn_ones_keep_their_parts():
    def refused(sch: tir.Schedule) -> None:
        sch.compute_inline("C")

    space = tuning.Space(matmul(), refused)
    with pytest.raises(ls.ScheduleError) as caught:
        space.made(1)
    assert caught.value.primitive == "compute_inline" and caught.value.picture
    search = tuning.RandomSearch(space, 1)
    assert search.propose() is None
    assert set(search.refused) == {str(caught.value).partition("\n")[0]}

    def of_ones_own(sch: tir.Schedule) -> None:
        raise ls.ScheduleError("no schedule of mine\nfor a reason")

    own = tuning.RandomSearch(tuning.Space(matmul(), of_ones_own), 1)
    assert own.propose() is None and list(own.refused) == ["no schedule of mine"]


def test_a_model_that_cannot_lower_refuses_and_other_errors_end_the_search():
    class Cannot:
        def predict(self, func: Any) -> float:
            raise ls.LowerError("not so")

    search = tuning.EvolutionarySearch(tuning.Space(matmul(), tuning.generated), 1, Cannot())
    assert search.propose() is None and list(search.refused) == ["not so"]

    class Wrong:
        def predict(self, func: Any) -> float:
            raise ZeroDivisionError

    search = tuning.EvolutionarySearch(tuning.Space(matmul(), tuning.generated), 1, Wrong())
    with pytest.raises(ZeroDivisionError):
        search.propose()


def test_models_are_asked_by_several_threads_where_they_say_so():
    class Asked:
        def __init__(self, is_concurrent: bool) -> None:
            self.is_concurrent = is_concurrent
            self.threads: set[int] = set()
            self.both = threading.Barrier(2, timeout=20)

        def predict(self, func: Any) -> float:
            self.threads.add(threading.get_ident())
            if self.is_concurrent and len(self.threads) < 2:
                self.both.wait()  # The other one asks, too.
            elif self.is_concurrent and self.both.n_waiting:
                self.both.wait()
            return float(len(func.script()))

    class Two(tuning.EvolutionarySearch):
        threads = 2

    found = []
    for is_concurrent in (True, False):
        model = Asked(is_concurrent)
        search = Two(tuning.Space(matmul(), tuning.generated), 1, model)
        found.append([each.key for each in proposed(search, 10)])
        assert len(model.threads) == (2 if is_concurrent else 1)
    assert found[0] == found[1]


def test_spaces_of_ones_own_are_drawn_by_one_thread_and_the_others_by_several():
    drawing: set[int] = set()

    def own(sch: tir.Schedule) -> None:
        drawing.add(threading.get_ident())
        choices(sch)

    assert not tuning.Space(twice(), own).steps.is_concurrent
    assert len(proposed(tuning.RandomSearch(tuning.Space(twice(), own), 1), 10)) == 10
    assert drawing == {threading.get_ident()}
    default = tuning.WithDefault(matmul(), TARGET, None)
    for steps in (tuning.generated, tuning.generated_for_gpu, default, None):
        assert tuning.Space(matmul(), steps).steps.is_concurrent


def test_threads_of_python_run_while_candidates_are_drawn():
    ticks = 0
    is_over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not is_over.wait(0.001):
            ticks += 1

    search = tuning.EvolutionarySearch(
        tuning.Space(matmul(), tuning.generated), 1, tuning.AnalyticModel(TARGET)
    )
    other = threading.Thread(target=tick)
    other.start()
    search.bred([], [], 300)
    is_over.set()
    other.join()
    assert ticks > 10


@pytest.mark.parametrize("steps", [tuning.generated, choices])
def test_an_interrupt_while_drawing_ends_the_search(steps: Any):
    func = matmul() if steps is tuning.generated else twice()
    search = tuning.EvolutionarySearch(tuning.Space(func, steps), 1, tuning.AnalyticModel(TARGET))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    # Processes that a shell starts in the background ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            search.bred([], [], 20_000)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert len(proposed(search, 5)) == 5, "it goes on"


def test_mutators_get_a_trace_and_what_to_draw_with():
    seen: list[float] = []

    def noting(trace: Any, rng: random.Random) -> Any:
        assert isinstance(rng, random.Random)
        seen.append(rng.random())
        return tuning.mutated(trace, rng) if len(seen) % 2 else None

    runs = []
    for _ in range(2):
        seen.clear()
        clock = Clock(shorter_is_quicker)
        ls.tune(twice(), space=choices, trials=40, mutator=noting, runner=clock, seed=3)
        assert len(set(seen)) == len(seen) > 10
        runs.append((list(seen), clock.scripts))
    assert runs[0] == runs[1]

    def wrong(trace: Any, rng: random.Random) -> Any:
        raise ls.ScheduleError("no mutation")

    with pytest.raises(ls.ScheduleError, match="no mutation"):
        ls.tune(twice(), space=choices, trials=40, mutator=wrong, runner=Clock(shorter_is_quicker))


def test_a_strategy_may_extend_one_that_has_a_name():
    batches: list[int] = []

    class Counted(tuning.EvolutionarySearch):
        def next_candidates(self) -> list[tuning.Candidate]:
            batch = super().next_candidates()
            batches.append(len(batch))
            return batch[: self.rng.randrange(1, 4)]

    best = ls.tune(
        twice(), space=choices, trials=9, runner=Clock(shorter_is_quicker), search=Counted
    )
    assert len(best.trials) == 9 and len(batches) >= 3 and batches[0] == tuning.Search.batch_size


def test_plans_of_ones_own_are_carried_out():
    search = tuning.RandomSearch(tuning.Space(twice(), choices), 1)
    sevens = [("sample_categorical", 7)] * 3
    found, known = search.ranked([(search.seed(), sevens), (search.seed(), sevens)])
    assert found is not None and known is None
    assert tuning.decisions_of(found.trace) == sevens
    assert found in [found] and found != search.propose()
    assert sum(new != old for new, old in zip(search.mutated(found.trace), sevens)) == 1


def test_a_strategy_that_returns_no_candidates_is_refused():
    class Wrong(tuning.Search):
        def next_candidates(self) -> Any:
            return self.quickest or 3

    with pytest.raises(ls.TypeMismatch) as caught:
        ls.tune(twice(), trials=4, search=Wrong, runner=Clock(shorter_is_quicker))
    assert str(caught.value) == (
        "tune: next_candidates returned list, expected a list of candidates\n"
        "  hint: return what `chosen` returns, or candidates of `bred`"
    )
    with pytest.raises(NotImplementedError, match="Search has no method next_candidates"):
        tuning.Search(tuning.Space(twice(), None), 1).propose()
