# SPDX-License-Identifier: Apache-2.0
"""The search for schedules: what is found is right, and candidates cannot hurt."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from loopsmith.tuning.measure.in_time import ended_in_time
from loopsmith.tuning.measure.worker import Attempt, Check, Duel, Job, Outcome, Request

import loopsmith as ls
from loopsmith import te, tir, tuning
from loopsmith.script import tir as T  # noqa: N812

SIZE = 32


def matmul(n: int = SIZE) -> Any:
    a = te.placeholder((n, n), name="A")
    b = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    return te.create_prim_func(
        [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    )


def twice(n: int = SIZE, factor: float = 2.0) -> Any:
    a = te.placeholder((n,), name="A")
    return te.create_prim_func([a, te.compute((n,), lambda i: a[i] * factor, name="B")])


def tiled(sch: tir.Schedule) -> None:
    """Take a space with two samples."""
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    for loop in (i, j):
        sch.split(loop, sch.sample_perfect_tile(loop, n=2, max_innermost_factor=16))


class Clock:
    """A runner whose times are a function of the script, and which remembers what it was asked."""

    def __init__(self, seconds: Callable[[str], float], default: float = 1.0) -> None:
        self.scripts: list[str] = []
        self._seconds = seconds
        self._default = default

    def run(self, request: Request) -> Outcome:
        if request.scheduled is None:
            return Outcome([self._default])
        script = request.scheduled.script()
        if isinstance(request, Check):
            return Outcome()
        if isinstance(request, Duel):
            return Outcome([self._seconds(script)] * 20, [self._default] * 20)
        self.scripts.append(script)
        return Outcome([self._seconds(script)])


def shorter_is_quicker(script: str) -> float:
    return len(script) * 1e-6


def test_the_winner_computes_the_product_and_tells_of_the_search(tmp_path: Path):
    best = ls.tune(matmul(), trials=12, seed=3)
    assert len(best.trials) == 12 and not best.failures
    assert best.seconds > 0 and best.default_seconds > 0
    a, b = np.random.default_rng(0).standard_normal((2, SIZE, SIZE)).astype(np.float32)
    c = np.zeros((SIZE, SIZE), np.float32)
    best.build()(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert best.schedule.verify()
    assert f"{len(best.trials)} candidates" in str(best)
    assert 0 < best.limit_seconds < best.seconds and "% of the machine's limit" in str(best)
    page = best.html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page
    assert "What mattered" in page and "sample_" in page and page.count("<svg") == 1


LABELS = ["time of a call [us]", "median time of a call [us]", "GFLOP/s"]


def test_reports_have_times_decisions_and_the_roofline(tmp_path: Path):
    best = ls.tune(matmul(), trials=20, seed=3)
    best.report(tmp_path / "search.html", tmp_path / "search.svg")
    assert (tmp_path / "search.html").read_text() == best.html()
    drawn = (tmp_path / "search.svg").read_text()
    ElementTree.fromstring(drawn)
    for text in (*LABELS, "best so far", "default schedule", "this machine, as measured"):
        assert f">{text}</text>" in drawn
    with pytest.raises(ls.UserError, match=r"search\.pdf ends with \.pdf\n.*\.html, \.svg, \.png"):
        best.report(tmp_path / "search.html", tmp_path / "search.pdf")


def test_a_page_a_png_and_an_svg_are_one_call(tmp_path: Path):
    pytest.importorskip("matplotlib")
    best = ls.tune(matmul(), trials=20, seed=3)
    paths = [tmp_path / f"search{suffix}" for suffix in (".html", ".png", ".svg")]
    best.report(*paths)
    page, image, drawn = (path.read_bytes() for path in paths)
    assert image.startswith(b"\x89PNG") and drawn.startswith(b"<svg") and drawn in page
    assert [axes.get_ylabel() for axes in best.plot().axes] == LABELS


def test_the_same_seed_and_times_give_the_same_search():
    searches = [Clock(shorter_is_quicker) for _ in range(3)]
    best = [
        ls.tune(matmul(), trials=60, seed=seed, runner=clock)
        for seed, clock in zip((5, 5, 6), searches)
    ]
    assert searches[0].scripts == searches[1].scripts != searches[2].scripts
    assert str(best[0].trace) == str(best[1].trace)
    assert len(set(searches[0].scripts)) == 60, "a program was measured twice"


def test_the_search_is_the_same_however_many_threads_draw(monkeypatch: pytest.MonkeyPatch):
    searches = []
    for threads in (1, 3):
        monkeypatch.setattr(tuning.EvolutionarySearch, "threads", threads)
        searches.append(Clock(shorter_is_quicker))
        ls.tune(matmul(), trials=30, seed=5, runner=searches[-1])
    assert searches[0].scripts == searches[1].scripts


def test_evolution_finds_what_random_draws_do_not():
    """Of 32^5 decisions one is the best; the time is the distance from it."""

    def five_loops(sch: tir.Schedule) -> None:
        (loop,) = sch.get_loops("B")
        for number in range(5):
            choice = sch.sample_categorical(list(range(32)), [1 / 32] * 32)
            sch.annotate(loop, f"choice{number}", choice)

    def distance(script: str) -> float:
        choices = [int(found) for found in re.findall(r'"choice\d": (\d+)', script)]
        assert len(choices) == 5
        return 1e-3 + sum(abs(choice - 7) for choice in choices) * 1e-3

    best = ls.tune(twice(), space=five_loops, trials=600, runner=Clock(distance))
    assert best.seconds < 0.02
    draws = [trial.seconds for trial in best.trials[:24]]
    assert best.seconds < min(draws) / 2
    assert best.explain()[0].ratio > 1 and "sample_categorical" in str(best.explain())


def test_the_samples_of_a_schedule_are_searched():
    sch = tir.Schedule(matmul())
    tiled(sch)
    best = ls.tune(sch, trials=8, runner=Clock(shorter_is_quicker))
    decisions = {str(trial.trace) for trial in best.trials}
    assert len(decisions) == 8
    assert [str(inst.kind) for inst in best.trace.insts] == [str(i.kind) for i in sch.trace.insts]
    replayed = ls.tune(matmul(), space=sch.trace, trials=8, runner=Clock(shorter_is_quicker))
    assert str(replayed.trace) == str(best.trace)


def test_a_trace_knows_the_program_of_its_schedule():
    sch = tir.Schedule(matmul())
    tiled(sch)
    of_schedule = ls.tune(sch, trials=8, runner=Clock(shorter_is_quicker))
    for trace in (sch.trace, sch.trace.simplified(), sch.trace.with_decision(2, [4, 8])):
        assert trace.original is not None
        ls.assert_structural_equal(trace.original.functions[0], matmul())
        best = ls.tune(trace, trials=8, runner=Clock(shorter_is_quicker))
        assert str(best.trace) == str(of_schedule.trace)
    again = ls.tune(best.trace, trials=4, runner=Clock(shorter_is_quicker))
    assert len(again.trials) == 4
    assert tir.Trace.from_json(json.dumps(sch.trace.as_json())).original is None


def test_a_part_by_hand_and_a_part_searched():
    sch = tir.Schedule(matmul())
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)

    def rest(sch: tir.Schedule) -> None:
        sch.split(sch.get_loops("C")[0], sch.sample_perfect_tile(sch.get_loops("C")[0], n=2))

    best = ls.tune(sch, space=rest, trials=4, runner=Clock(shorter_is_quicker))
    assert "reorder" in str(best.trace) and "sample_perfect_tile" in str(best.trace)


def test_a_schedule_of_tensor_expressions_without_samples_is_one_point():
    a = te.placeholder((SIZE,), name="A")
    b = te.compute((SIZE,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=4)
    best = ls.tune(s, trials=20)
    assert len(best.trials) == 1 and best.is_exhausted
    assert "the space has one point" in str(best)


def test_the_space_says_which_choices_there_are():
    text = str(tuning.Space(matmul(), tiled))
    assert text.startswith("36 points") and text.count("6 choices: ") == 2
    assert "no samples" in str(tuning.Space(twice(), None))


def test_a_slower_space_says_so_and_leaves_no_record(tmp_path: Path):
    records = tmp_path / "records.db"
    slow = ls.tune(twice(), trials=3, records=records, runner=Clock(lambda _: 2.0))
    assert not slow.is_quicker and slow.speedup == 0.5
    assert "as quick or quicker" in str(slow)
    assert len(tuning.Records(records)) == 0


def test_a_winner_within_the_noise_is_not_called_slower():
    class Noisy(Clock):
        def run(self, request: Request) -> Outcome:
            if isinstance(request, Duel):
                return Outcome([0.5] * 15 + [2.0] * 5, [1.0] * 20)
            return super().run(request)

    best = ls.tune(twice(), trials=2, runner=Noisy(lambda _: 0.5))
    assert not best.is_quicker and best.speedup == 2
    assert "2 times as quick" in str(best) and "not beyond the machine's noise" in str(best)
    assert "as quick or quicker" not in str(best)


def test_build_takes_the_schedule_of_a_record(tmp_path: Path):
    records = tmp_path / "records.db"

    def marked(sch: tir.Schedule) -> None:
        sch.annotate(sch.get_loops("B")[0], "marked", sch.sample_categorical([1, 2], [0.5, 0.5]))

    best = ls.tune(twice(), space=marked, records=records, runner=Clock(lambda _: 0.5))
    assert best.is_quicker and best.speedup == 2
    (record,) = tuning.Records(records).all()
    assert record.seconds == 0.5 and record.default_seconds == 1.0 and record.name == "main"

    def scheduled(func: Any, **options: Any) -> str:
        seen: list[Any] = []
        ls.build(func, records=records, dump=seen.append, **options)
        return str(seen[0].before.script())

    assert "marked" in scheduled(twice())
    assert "marked" in scheduled(twice().with_attr("global_symbol", "renamed"))
    assert "marked" not in scheduled(twice(factor=3.0))
    assert "marked" not in scheduled(twice(), contract=False)
    assert "marked" not in scheduled(twice(), target="llvm -mcpu=x86-64")
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    ls.build(twice(), records=records)(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_the_functions_of_a_module_share_the_trials(tmp_path: Path):
    names = [ls.ir.GlobalVar("product"), ls.ir.GlobalVar("scale")]
    module = ls.ir.IRModule(names=names, functions=[matmul(), twice()])
    best = ls.tune(module, trials=80, weights={"product": 100.0}, runner=Clock(shorter_is_quicker))
    counts = {name: len(each.trials) for name, each in best.functions.items()}
    assert sum(counts.values()) <= 80 and counts["product"] > counts["scale"] >= 5
    built = best.build()
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    built["scale"](x, y)
    np.testing.assert_array_equal(y, 2 * x)
    assert "product: " in str(best) and "scale: " in str(best)
    page = best.html()
    assert "<title>product, scale</title>" in page
    assert "<h1>product</h1>" in page and "<h1>scale</h1>" in page
    best.report(tmp_path / "module.html")
    assert (tmp_path / "module.html").read_text() == page
    effects = best.explain()
    assert list(effects) == ["product", "scale"]
    assert effects["product"] == best.functions["product"].explain()


def test_a_function_without_a_candidate_loses_nothing_of_the_others():
    names = [ls.ir.GlobalVar("product"), ls.ir.GlobalVar("scale")]
    module = ls.ir.IRModule(names=names, functions=[matmul(), twice()])
    only = Clock(lambda script: 1.0 if "def product" in script else math.nan)
    best = ls.tune(module, trials=40, runner=only)
    assert list(best.functions) == ["product"] and list(best.failures) == ["scale"]
    assert "scale: tune: scale: none of" in str(best)
    assert best.build()["scale"] is not None
    with pytest.raises(ls.UserError, match=r"none of .* candidates could be built and measured"):
        ls.tune(module, trials=40, runner=Clock(lambda _: math.nan))


@pytest.mark.parametrize("weights", [{"sum": 1.0}, {"product": -1.0}, {"product": math.nan}])
def test_weights_are_of_functions_and_no_less_than_0(weights: dict[str, float]):
    module = ls.ir.IRModule(names=[ls.ir.GlobalVar("product")], functions=[matmul()])
    with pytest.raises(ls.UserError, match=r"weight of .* is .*\n.*give each of product a number"):
        ls.tune(module, weights=weights)


def test_the_model_that_is_built_in_ranks_schedules():
    model = tuning.AnalyticModel(ls.Target("llvm -mcpu=native"))
    plain, better = tir.Schedule(matmul(256)), tir.Schedule(matmul(256))
    i, j, k = better.get_loops("C")
    better.reorder(i, k, j)
    better.vectorize(j)
    assert model.predict(better.func) < model.predict(plain.func) / 2


def test_a_model_of_ones_own_chooses_what_is_measured():
    class Shortest:
        def predict(self, func: Any) -> float:
            return len(func.script())

    def mean(model: Any) -> float:
        clock = Clock(shorter_is_quicker)
        ls.tune(matmul(), trials=9, runner=clock, model=model)
        return sum(map(len, clock.scripts)) / len(clock.scripts)

    class Longest:
        def predict(self, func: Any) -> float:
            return -len(func.script())

    assert mean(Shortest()) < mean(Longest())


def test_a_mutator_of_ones_own_makes_descendants():
    """All descendants have the decision that it sets."""

    def sevens(trace: Any, rng: Any) -> Any:
        return [(kind, 7) for kind, _ in tuning.decisions_of(trace)]

    def two_choices(sch: tir.Schedule) -> None:
        for number in range(2):
            choice = sch.sample_categorical(list(range(1000)), [1e-3] * 1000)
            sch.annotate(sch.get_loops("B")[0], f"choice{number}", choice)

    clock = Clock(shorter_is_quicker)
    ls.tune(twice(), space=two_choices, trials=30, mutator=sevens, runner=clock)
    assert sum('"choice0": 7, "choice1": 7' in script for script in clock.scripts) == 1


# What happens to candidates in the child process.


@T.prim_func
def crashing(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    T.func_attr({"tir.is_scheduled": 1})
    for i in range(32):
        B[i] = A[i]
    T.evaluate(T.call_extern("void", "abort"))


@T.prim_func
def endless(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    T.func_attr({"tir.is_scheduled": 1})
    for i in T.serial(1 << 40):
        B[i % 32] = B[i % 32] * T.float32(0.5) + A[(i * i) % 32]


@T.prim_func
def greedy(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    T.func_attr({"tir.is_scheduled": 1})
    C = T.alloc_buffer((1 << 34,), "float32")
    for i in range(32):
        C[i * 400000000] = A[i]
    for i in range(32):
        B[i] = C[i * 400000000]


@pytest.fixture
def runner() -> Any:
    arguments = [np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)]
    job = Job(twice(), "llvm -mcpu=native", {}, arguments, memory=1 << 30)
    with tuning.Runner(job, timeout=3.0) as made:
        yield made


@pytest.mark.parametrize(
    ("func", "failure"),
    [
        (crashing, "crash"),
        (endless, "timeout"),
        (greedy, "run error"),
        (twice(factor=3.0), "wrong result"),
    ],
)
def test_what_a_candidate_does_is_a_result(runner: tuning.Runner, func: Any, failure: str):
    outcome = runner.run(Attempt(func, math.inf))
    assert outcome.failure == failure and outcome.detail
    after = runner.run(Attempt(None, math.inf))
    assert after.failure is None and after.samples


def test_what_is_not_compiled_in_time_is_a_result_and_holds_up_nothing(runner: tuning.Runner):
    quick, slow = twice(), twice(factor=4.0)
    slow_job = Job(quick, "llvm -mcpu=native", {}, [np.zeros(SIZE, np.float32)] * 2, 1 << 30)
    with tuning.Runner(slow_job, timeout=30.0, compile_timeout=1e-6) as hurried:
        hurried.prepare([slow, quick])
        outcome = hurried.run(Attempt(slow, math.inf))
        assert outcome.failure == "compile timeout"
        assert outcome.detail == "not compiled within 1e-06 s"
        assert hurried.run(Attempt(None, math.inf)).samples, "the process was not started again"
    runner.prepare([quick, twice(factor=3.0), crashing])  # Compiled ahead, they run as else.
    assert runner.run(Attempt(quick, math.inf)).samples
    assert runner.run(Attempt(twice(factor=3.0), math.inf)).failure == "wrong result"
    assert runner.run(Attempt(crashing, math.inf)).failure == "crash"
    assert runner.run(Attempt(quick, math.inf)).samples


def test_threads_that_take_too_long_are_left_behind():
    release = threading.Event()
    tasks = [lambda: 1, release.wait, lambda: 3]
    assert ended_in_time(tasks, threads=2, seconds=0.1) == [1, None, 3]
    release.set()
    # One that ended late is late, also where it ended before it was asked for.
    assert ended_in_time([lambda: 1], threads=1, seconds=0.0) == [None]


def test_a_wrong_result_says_where(runner: tuning.Runner):
    outcome = runner.run(Attempt(twice(factor=3.0), math.inf))
    assert outcome.detail == "argument 1 at (1,): 3.0, expected 2.0"


def test_the_winner_is_compared_with_the_program_without_a_schedule(runner: tuning.Runner):
    assert runner.run(Check(twice())).failure is None
    assert runner.run(Check(twice(factor=3.0))).failure == "wrong result"
    best = ls.tune(twice(), trials=2)
    assert best.check == "compared with the program without a schedule"


def test_a_winner_that_is_wrong_is_no_winner():
    class Wrong(Clock):
        def run(self, request: Request) -> Outcome:
            if isinstance(request, Check):
                return Outcome(failure="wrong result", detail="argument 1")
            return super().run(request)

    with pytest.raises(ls.UserError, match="gives other results than the default schedule"):
        ls.tune(twice(), trials=2, runner=Wrong(shorter_is_quicker))


def test_a_candidate_that_cannot_win_is_not_measured_again(runner: tuning.Runner):
    assert len(runner.run(Attempt(twice(), 1e-12)).samples) == 1
    assert len(runner.run(Attempt(twice(), 1.0)).samples) == 5


def test_a_program_that_does_not_run_is_refused():
    with pytest.raises(ls.UserError, match="the program with the default schedule failed"):
        ls.tune(twice(), trials=1, arguments=[np.zeros(3, np.float32), np.zeros(3, np.float32)])


# Bad input.


def test_what_cannot_be_tuned_is_refused():
    sch = tir.Schedule(matmul())
    tiled(sch)
    read = tir.Trace.from_json(json.dumps(sch.trace.as_json()))
    with pytest.raises(ls.TypeMismatch, match=r"a Trace cannot be tuned so\n.*space=trace"):
        ls.tune(read)
    with pytest.raises(ls.TypeMismatch, match="a int cannot be tuned so"):
        ls.tune(3)
    with pytest.raises(ls.TypeMismatch, match=r"a IRModule cannot be tuned so\n.*a function"):
        ls.tune(ls.ir.IRModule(names=[], functions=[]))
    too_small = [np.ones((3, 3), np.float32)] * 3
    with pytest.raises(ls.UserError, match=r"default schedule failed: run error: .*\b3\b"):
        ls.tune(matmul(), arguments=too_small)
    with pytest.raises(ls.TypeMismatch, match="tune: the space returned int, expected None"):
        ls.tune(matmul(), space=lambda _: 3, trials=1)


def test_a_space_whose_steps_are_all_refused_says_which():
    def illegal(sch: tir.Schedule) -> None:
        sch.vectorize(sch.get_loops("C")[2])
        sch.compute_inline("C")

    with pytest.raises(ls.UserError, match="none of 0 candidates could be built"):
        ls.tune(matmul(), space=illegal, trials=5, runner=Clock(shorter_is_quicker))


# Searches that go on, and searches under a lock.


def test_a_search_goes_on_where_another_one_ended(tmp_path: Path):
    store = tmp_path / "records.db"

    class Stopping(Clock):
        def run(self, request: Request) -> Outcome:
            if len(self.scripts) == 15:
                raise RuntimeError("the power went")
            return super().run(request)

    first, second = Stopping(shorter_is_quicker), Clock(shorter_is_quicker)
    with pytest.raises(RuntimeError):
        ls.tune(matmul(), trials=30, records=store, runner=first)
    best = ls.tune(matmul(), trials=10, records=store, runner=second)
    assert not set(first.scripts) & set(second.scripts), "a candidate was measured twice"
    assert best.seconds == min(map(shorter_is_quicker, first.scripts + second.scripts))
    other = Clock(shorter_is_quicker)
    ls.tune(matmul(), trials=10, space=tiled, records=store, runner=other)
    assert all("sample" not in script for script in other.scripts)
