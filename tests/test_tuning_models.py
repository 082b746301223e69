# SPDX-License-Identifier: Apache-2.0
"""Models that learn, and searches that fix an order of reductions."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loopsmith._core import rank_correlation
from loopsmith.tuning.measure.worker import Check, Duel, Outcome, Request
from loopsmith.tuning.model.learned import MIN_SAMPLES, LearnedModel

import loopsmith as ls
from loopsmith import te, tir, tuning

TARGET = ls.Target("llvm -mcpu=native")


def product(n: int = 64) -> Any:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def row_sums(n: int = 100) -> Any:
    a, k = te.placeholder((8, n), name="A"), te.reduce_axis((0, n), name="k")
    return te.create_prim_func([a, te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="B")])


@pytest.mark.parametrize("library", ["lightgbm", "own"])
def test_a_model_learns_what_the_analytic_one_does_not_know(
    library: str, monkeypatch: pytest.MonkeyPatch
):
    """The time is the estimate, doubled where there are many unrolled copies."""
    if library == "own":
        monkeypatch.setitem(sys.modules, "lightgbm", None)
    else:
        pytest.importorskip("lightgbm")
    model, analytic = LearnedModel(TARGET), tuning.AnalyticModel(TARGET)
    space = tuning.Space(product(), tuning.generated)
    rng = random.Random(0)
    seen = []
    while len(seen) < 2 * MIN_SAMPLES:
        try:
            func = space.draw(rng).func
            seconds = analytic.predict(func) * (4.0 if "T.unroll" in func.script() else 1.0)
        except ls.UserError:
            continue
        seen.append((func, seconds))
        model.learn(func, seconds)
    learned = rank_correlation([model.predict(f) for f, _ in seen], [s for _, s in seen])
    before = rank_correlation([analytic.predict(f) for f, _ in seen], [s for _, s in seen])
    assert learned > max(before, 0.9)
    assert model.correlations and all(-1 <= each <= 1 for each in model.correlations[0])


def test_a_model_that_learns_takes_part_in_a_search(tmp_path: Path):
    learned: list[float] = []

    class Listening:
        def predict(self, func: Any) -> float:
            return 1.0

        def learn(self, func: Any, seconds: float) -> None:
            learned.append(seconds)

    class Clock:
        def run(self, request: Request) -> Outcome:
            return Outcome([0.5], [1.0] if isinstance(request, Duel) else [])

    store = tmp_path / "records.db"
    ls.tune(product(), trials=5, runner=Clock(), model=Listening(), records=store)
    assert learned == [0.5] * 5
    ls.tune(product(), trials=2, runner=Clock(), model=Listening(), records=store)
    assert learned == [0.5] * 12, "the trials of the first search were not learned by the second"


@pytest.mark.parametrize("n", [100, 4099])
def test_reproducible_searches_give_the_same_bits_whichever_schedule_wins(n: int):
    """Winners of two seeds, with one thread and with two, on numbers of all magnitudes."""
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((8, n)) * 10.0 ** rng.integers(-8, 8, (8, n))).astype(np.float32)
    results = set()
    for seed, threads in ((1, 1), (2, 2), (3, 2)):
        best = ls.tune(
            row_sums(n), trials=4, seed=seed, numerics="reproducible", num_threads=threads
        )
        assert "rfactor" in str(best.trace)
        for sch in {str(best.trace): best.schedule}.values():
            b = np.zeros(8, np.float32)
            ls.build(sch, num_threads=threads)(a, b)
            results.add(b.tobytes())
    assert len(results) == 1


def test_build_keeps_the_order_with_a_record_and_without(tmp_path: Path):
    func, store = row_sums(4099), tmp_path / "records.db"
    best = ls.tune(func, trials=3, numerics="reproducible", records=store, runner=_Quick())
    assert best.is_quicker and len(tuning.Records(store)) == 1
    modules = [best.build(), *(ls.build(func, numerics="reproducible", records=each)
               for each in (store, tmp_path / "others.db", None))]  # fmt: skip
    a = np.random.default_rng(0).standard_normal((8, 4099)).astype(np.float32)
    results = set()
    for module in modules:
        b = np.zeros(8, np.float32)
        module(a, b)
        results.add(b.tobytes())
    assert len(results) == 1
    with pytest.raises(ls.UserError, match="build: numerics is 'fixed'"):
        ls.build(func, numerics="fixed")


def test_products_keep_the_order_in_which_they_are_written():
    best = ls.tune(product(), trials=2, numerics="reproducible", runner=_Quick())
    assert "rfactor" not in str(best.trace)


def test_steps_that_change_the_order_are_refused_after_it_was_fixed():
    def again(sch: tir.Schedule) -> None:
        block = sch.get_child_blocks("root")[0]
        loop = sch.get_loops(block)[-1]
        sch.rfactor(sch.split(loop, [None, 2])[1], 1)

    with pytest.raises(ls.UserError, match="none of 0 candidates"):
        ls.tune(row_sums(), space=again, trials=2, numerics="reproducible", runner=_Quick())


class _Quick:
    def run(self, request: Request) -> Outcome:
        if isinstance(request, Check):
            return Outcome()
        return Outcome([0.5], [1.0])


def test_times_are_predicted_for_the_sizes_of_the_arguments():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")])
    predicted: list[float] = []

    class Noting(tuning.AnalyticModel):
        def predict(self, func: Any) -> float:
            predicted.append(super().predict(func))
            return predicted[-1]

    for size in (100, 1_000_000):
        arguments = [np.zeros(size, "float32"), np.zeros(size, "float32")]
        ls.tune(func, trials=2, arguments=arguments, model=Noting(TARGET), search="random")
        if size == 100:
            short = min(predicted)
            predicted.clear()
    assert min(predicted) > 20 * short


def test_a_model_that_learns_is_told_of_the_sizes_of_the_arguments():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")])
    learned: list[str] = []

    class Listening:
        def predict(self, func: Any) -> float:
            return 1.0

        def learn(self, func: Any, seconds: float) -> None:
            learned.append(func.script())

    arguments = [np.zeros(1234, "float32"), np.zeros(1234, "float32")]
    ls.tune(func, trials=2, arguments=arguments, model=Listening(), search="random")
    assert learned and all("1234" in text for text in learned)


def test_what_a_model_likes_is_left_for_the_next_batch():
    space = tuning.Space(product(), tuning.generated)
    search = tuning.EvolutionarySearch(space, 0, tuning.AnalyticModel(TARGET))
    proposed = [search.propose() for _ in range(search.batch_size)]
    left = [candidate.key for candidate in search.left]
    assert len(left) == search.pool_size
    assert not {each.key for each in proposed if each} & set(left)
    later = [search.propose() for _ in range(4 * search.batch_size)]
    assert {each.key for each in later if each} & set(left)
