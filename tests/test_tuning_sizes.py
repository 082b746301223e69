# SPDX-License-Identifier: Apache-2.0
"""Searches over ranges of sizes: one function, a few variants, a tree between them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loopsmith._core import SizeTree, drawn_sizes
from loopsmith.tuning.measure.worker import Attempt, Case, Check, Duel, Outcome
from loopsmith.tuning.sizes.sized import function_of

import loopsmith as ls
from loopsmith import te, tir, tuning


def product() -> Any:
    """C = A @ B with a symbolic number of rows."""
    m = te.size_var("m")
    a, b = te.placeholder((m, 32), name="A"), te.placeholder((32, 48), name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((m, 48), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def marked(sch: tir.Schedule) -> None:
    """Mark the outer loop by one of four numbers, which the clock below reads."""
    choice = sch.sample_categorical([0, 1, 2, 3], [0.25] * 4)
    sch.annotate(sch.get_loops("C")[0], "choice", choice)


class SizedClock:
    """A runner to which choice 1 is quick for few rows, choice 2 for many, and the rest slow."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.checked: list[str] = []
        self.measured: list[tuple[str, int]] = []
        """The programs that were attempted, and with which size."""

    def run(self, request: Any) -> Outcome:
        size = self.sizes[request.point]
        script = "" if request.scheduled is None else request.scheduled.script()
        if isinstance(request, Check):
            self.checked.append(script)
            return Outcome()
        if isinstance(request, Attempt) and request.scheduled is not None:
            self.measured.append((script, size))
        quick = '"choice": 1' if size < 100 else '"choice": 2'
        return Outcome([1.0 if quick in script else 2.0] * 3, [2.0] * 3)


def searched(weights: dict[int, float], **options: Any) -> tuple[Any, SizedClock]:
    clock = SizedClock(list(weights))
    found = ls.tune(
        product(), space=marked, trials=40, sizes={"m": weights}, runner=clock, **options
    )
    return found, clock


def test_few_rows_and_many_have_variants_of_their_own():
    best, clock = searched({1: 1.0, 10: 1.0, 64: 1.0, 256: 1.0, 1000: 1.0})
    assert isinstance(best, tuning.TunedSizes)
    assert len(best.schedules) == 2 and best.speedup == pytest.approx(2.0)
    assert [row.variant for row in best.rows] == [best.tree.decide({"m": 1})] * 3 + [
        best.tree.decide({"m": 1000})
    ] * 2
    assert not best.tree.is_leaf and 64 < best.tree.threshold <= 256
    assert all(row.seconds <= 1.05 * row.best_seconds for row in best.rows)
    assert "if m < 128:" in str(best) and "m=1000: 1 s by variant" in str(best)
    script = clock.checked[0]
    assert clock.checked == 5 * [script]  # With each size.
    assert script.count('"choice": 1') == script.count('"choice": 2') == 1


def test_the_function_of_variants_is_right_for_all_sizes():
    best, _ = searched({1: 1.0, 64: 1.0, 200: 1.0})
    assert not best.is_default
    module = best.build()
    rng = np.random.default_rng(0)
    for rows in (1, 3, 99, 128, 129, 200):
        a, b = rng.random((rows, 32), np.float32), rng.random((32, 48), np.float32)
        c = np.full((rows, 48), np.nan, np.float32)
        module(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)


def test_sizes_of_no_weight_decide_nothing():
    best, _ = searched({10: 1.0, 1000: 0.0})
    assert best.tree.is_leaf and len(best.rows) == 1


def test_a_default_schedule_that_is_quickest_is_variant_0():
    class Slow(SizedClock):
        def run(self, request: Any) -> Outcome:
            if isinstance(request, Check):
                return super().run(request)
            return Outcome([2.0 if request.scheduled is None else 3.0] * 3, [2.0] * 3)

    best = ls.tune(product(), space=marked, trials=4, sizes={"m": {8: 1.0}}, runner=Slow([8]))
    assert best.is_default and best.speedup == 1.0
    assert best.build() is not None


def test_variants_that_are_wrong_together_are_refused():
    class Wrong(SizedClock):
        def run(self, request: Any) -> Outcome:
            if isinstance(request, Check) and request.point == 1:
                return Outcome(failure="wrong result", detail="argument 2")
            return super().run(request)

    sizes = {"m": {1: 1.0, 1000: 1.0}}
    said = r": the function of 2 variants fails with m=1000: wrong result: argument 2"
    with pytest.raises(ls.UserError, match=said):
        ls.tune(product(), space=marked, trials=40, sizes=sizes, runner=Wrong([1, 1000]))


def test_a_size_with_which_a_candidate_fails_is_named():
    class Failing(SizedClock):
        def run(self, request: Any) -> Outcome:
            script = "" if request.scheduled is None else request.scheduled.script()
            if request.point == 1 and '"choice": 3' in script:
                return Outcome(failure="wrong result", detail="argument 2")
            return super().run(request)

    clock = Failing([1, 1000, 2000])
    sizes = {"m": {1: 1.0, 1000: 1.0, 2000: 1.0}}
    best = ls.tune(product(), space=marked, trials=40, sizes=sizes, runner=clock)
    (failed,) = [trial for trial in best.trials if trial.failure]
    assert failed.failure == "wrong result" and failed.detail == "with m=1000: argument 2"
    assert math.isinf(failed.seconds)
    # With the sizes after it, it is not measured.
    assert [size for script, size in clock.measured if '"choice": 3' in script] == [1]


def test_a_size_with_which_the_default_schedule_fails_is_named():
    class Failing(SizedClock):
        def run(self, request: Any) -> Outcome:
            if request.scheduled is None and request.point == 1:
                return Outcome(failure="timeout", detail="no answer within 10 s")
            return super().run(request)

    said = r"the default schedule fails with m=1000: timeout: no answer within 10 s"
    with pytest.raises(ls.UserError, match=said) as error:
        sizes = {"m": {1: 1.0, 1000: 1.0}}
        ls.tune(product(), space=marked, sizes=sizes, runner=Failing([1, 1000]))
    assert error.value.code == "default_schedule_runs"


def test_a_search_over_sizes_goes_on_where_it_was_interrupted(tmp_path: Path):
    class Interrupted(SizedClock):
        def run(self, request: Any) -> Outcome:
            if isinstance(request, Attempt) and len(self.measured) == 4:  # Two of each size.
                raise KeyboardInterrupt
            return super().run(request)

    weights = {1: 1.0, 1000: 1.0}
    options: Any = {"space": marked, "trials": 40, "sizes": {"m": weights}}
    options["records"] = tmp_path / "trials.db"
    first = Interrupted(list(weights))
    stopped = ls.tune(product(), runner=first, **options)
    assert stopped.was_interrupted and len(stopped.trials) == 2
    second = SizedClock(list(weights))
    best = ls.tune(product(), runner=second, **options)
    assert len(best.trials) == 2 and not best.was_interrupted
    assert len(second.measured) == 4 and not {*first.measured} & {*second.measured}
    # It has found what a search without an interruption finds.
    whole, _ = searched(weights)
    assert best.speedup == whole.speedup == pytest.approx(2.0)
    ls.assert_structural_equal(best.function(), whole.function())
    # Of other sizes, those that were measured are known, and the schedules are measured again.
    third = SizedClock([1, 2000])
    ls.tune(product(), runner=third, **{**options, "sizes": {"m": {1: 1.0, 2000: 1.0}}})
    assert len(third.measured) == 8


def test_a_search_with_one_size_goes_on_with_trials_of_that_size(tmp_path: Path):
    def count_with(size: int) -> int:
        best = ls.tune(
            product(), space=marked, sizes={"m": size}, records=tmp_path / "trials.db",
            runner=SizedClock([size]),
        )  # fmt: skip
        return len(best.trials)

    assert [count_with(64), count_with(128), count_with(64)] == [4, 4, 0]


def test_a_second_interrupt_leaves_out_the_last_measurements_of_sizes():
    class Interrupted(SizedClock):
        def run(self, request: Any) -> Outcome:
            if isinstance(request, (Duel, Check)):
                raise KeyboardInterrupt
            return super().run(request)

    sizes = {"m": {1: 1.0, 1000: 1.0}}
    best = ls.tune(product(), space=marked, sizes=sizes, runner=Interrupted([1, 1000]))
    assert best.was_interrupted and best.speedup == pytest.approx(2.0)
    assert best.check == "compared with the default schedule"


def test_candidates_for_sizes_are_compiled_in_batches_within_a_limit():
    class Batches(SizedClock):
        batch = 3
        parallelism = 2

        def __init__(self, sizes: list[int]) -> None:
            super().__init__(sizes)
            self.ready: list[int] = []
            self.at_once: list[list[int]] = []

        def prepare(self, scheduled: list[Any]) -> None:
            self.ready.append(len(scheduled))

        def run_all(self, requests: list[Any]) -> list[Outcome]:
            self.at_once.append([request.point for request in requests])
            return [self.run(request) for request in requests]

    clock = Batches([1, 1000])
    ls.tune(product(), space=marked, sizes={"m": {1: 1.0, 1000: 1.0}}, runner=clock)
    assert clock.ready == [3, 1] and clock.at_once == [[0, 0], [1, 1]]

    class Hurried(SizedClock):
        def run(self, request: Any) -> Outcome:
            measured = super().run(request)
            if not isinstance(request, Attempt) or request.scheduled is None:
                return measured
            return Outcome(failure="compile timeout", detail="not compiled within 1 s")

    hurried = Hurried([1, 64])
    said = r"none of 4 candidates .*; compile timeout: not compiled within 1 s"
    with pytest.raises(ls.UserError, match=said):
        ls.tune(product(), space=marked, sizes={"m": {1: 1.0, 64: 1.0}}, runner=hurried)
    # What is not compiled for one size is not asked for with another.
    assert [size for _, size in hurried.measured] == [1] * 4


def test_variant_0_keeps_a_lock_of_numerics():
    strict = function_of(product(), [], SizeTree.from_json("0"), "llvm -mcpu=native", "strict")
    ls.assert_structural_equal(strict, product().with_attr("tir.is_scheduled", 1))
    best, _ = searched({1: 1.0, 1000: 1.0}, numerics="strict")
    assert best.options["numerics"] == "strict"


def test_records_keep_variants_and_their_tree(tmp_path: Path):
    records = tmp_path / "records.db"
    best, _ = searched({10: 1.0, 1000: 1.0}, records=records)
    seen: list[Any] = []
    module = ls.build(product(), records=records, dump=seen.append)
    script = seen[0].before.script()
    assert '"choice": 1' in script and '"choice": 2' in script
    assert str(best.tree.threshold) in script
    a, b = np.ones((5, 32), np.float32), np.ones((32, 48), np.float32)
    c = np.zeros((5, 48), np.float32)
    module(a, b, c)
    assert (c == 32).all()
    (record,) = tuning.Records(records).all()
    with pytest.raises(ls.UserError, match="has several schedules, for ranges of sizes"):
        record.schedule(product())


def test_a_search_over_sizes_measures_what_it_finds():
    best = ls.tune(product(), trials=12, sizes={"m": tuning.SizeRange(1, 64)}, seed=2)
    assert len(best.trials) == 12 and best.rows[0].sizes == {"m": 1}
    assert best.rows[-1].sizes == {"m": 64}
    assert all(row.seconds > 0 and math.isfinite(row.default_seconds) for row in best.rows)
    assert "  m=64: " in best.html() and "<h2>The program</h2>" in best.html()


def test_variants_are_explained_and_plotted(tmp_path: Path):
    best, _ = searched({1: 1.0, 10: 1.0, 1000: 1.0})
    told = str(best.explain(1))
    assert "sample_categorical" in told and best.explain(2)
    page = best.html()
    assert "What mattered in variant 2" in page and "4 candidates in" in page
    with pytest.raises(ls.UserError, match="explain: variant 0 is none of 1 to 2"):
        best.explain(0)
    best.report(tmp_path / "sizes.svg", tmp_path / "sizes.html")
    drawn = (tmp_path / "sizes.svg").read_text()
    assert drawn.count("<svg") == 1 and drawn in page and ">m</text>" in drawn
    pytest.importorskip("matplotlib")
    labels = [axes.get_xlabel() for axes in best.plot().axes]
    assert labels == ["time since the search began [s]", "m"]


def test_duels_time_calls_without_pythons_part_of_them():
    a = te.placeholder((4,), name="A")
    module = ls.build(te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="B")]))
    case = Case([np.zeros(4, np.float32), np.zeros(4, np.float32)], is_exact=False)
    duel = case.duel(module, module, repeat=5, cold_repeat=1)
    assert len(duel.samples) == len(duel.default_samples) == 5 and len(duel.cold) == 1
    alone = module.time(*case.originals)
    assert min(duel.samples) < 2 * min(alone.samples)  # Of Python, a call takes ten times as long.


def test_ranges_are_drawn_by_equal_ratios_with_the_weights_of_their_neighbours():
    points = drawn_sizes(product(), {"m": tuning.SizeRange(1, 128)}, seed=0)
    assert [point.sizes["m"] for point in points] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert sum(point.weight for point in points) == pytest.approx(1.0)
    rare = tuning.SizeRange(1, 128, weight=lambda n: n > 100)
    many = drawn_sizes(product(), {"m": rare}, seed=0)
    assert [point.sizes["m"] for point in many] == [128]
    both = {"m": tuning.SizeRange(16, 512, step=16), "n": tuning.SizeRange(1, 9)}
    m, n = te.size_var("m"), te.size_var("n")
    a = te.placeholder((m, n), name="A")
    func = te.create_prim_func([a, te.compute((m, n), lambda i, j: a[i, j] + 1.0, name="B")])
    drawn = drawn_sizes(func, both, seed=0)
    assert drawn[0].sizes == {"m": 16, "n": 1} and drawn[1].sizes == {"m": 512, "n": 9}
    assert all(point.sizes["m"] % 16 == 0 for point in drawn)


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(ls.BoundsError, match=r"SizeRange: 9 to 3 by 1 has no sizes"):
        tuning.SizeRange(9, 3)
    with pytest.raises(ls.UserError, match=r"the function has no size n; it has m"):
        ls.tune(product(), sizes={"n": tuning.SizeRange(1, 9)})
    with pytest.raises(ls.UserError, match=r"the weights of size m are .*nan"):
        ls.tune(product(), sizes={"m": {4: math.nan}})
    with pytest.raises(ls.UserError, match="arguments are given, and ranges of sizes"):
        ls.tune(product(), sizes={"m": {4: 1.0}}, arguments=[])
