# SPDX-License-Identifier: Apache-2.0
"""Searches, each for some seconds, beside the default schedule, NumPy and schedules by hand.

Ratios are times of a peer over times of the schedule that was found: above 1, it is faster.
``python bench/tune.py [seconds] [names]`` chooses. Before them, the processor time of a candidate
that is drawn, checked, lowered and ranked.
"""

from __future__ import annotations

import random
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import interleaved, print_table, verdict
from whole_schedules import attention

import loopsmith as ls
from loopsmith import te, tuning

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = runpy.run_path(str(ROOT / "examples" / "long_tail" / "programs.py"))
LONG_TAIL = EXAMPLES["PROGRAMS"]
SECONDS = 20.0
GOAL = 1.0
TARGET = "llvm -mcpu=native"
CANDIDATES = 100
CANDIDATE_MILLISECONDS = 1.0
LONG_TAIL_SIZES = {**EXAMPLES["SIZES"], "sparse_product": 20_000}


def matmul(n: int) -> Any:
    """Return a product of square matrices."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    return te.create_prim_func(
        [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    )


def convolution() -> Any:
    """Return a convolution of 64 channels, 56 x 56, by 3 x 3."""
    a, w = te.placeholder((1, 64, 58, 58), name="A"), te.placeholder((64, 64, 3, 3), name="W")
    c, y, x = (te.reduce_axis((0, n), name) for n, name in ((64, "c"), (3, "y"), (3, "x")))
    out = te.compute(
        (1, 64, 56, 56),
        lambda n, f, i, j: te.sum(a[n, c, i + y, j + x] * w[f, c, y, x], axis=[c, y, x]),
        name="C",
    )
    return te.create_prim_func([a, w, out])


def depthwise() -> Any:
    """Return a convolution of each of 128 channels by a kernel of its own."""
    a, w = te.placeholder((1, 128, 58, 58), name="A"), te.placeholder((128, 3, 3), name="W")
    y, x = te.reduce_axis((0, 3), "y"), te.reduce_axis((0, 3), "x")
    out = te.compute(
        (1, 128, 56, 56),
        lambda n, f, i, j: te.sum(a[n, f, i + y, j + x] * w[f, y, x], axis=[y, x]),
        name="C",
    )
    return te.create_prim_func([a, w, out])


def softmax() -> Any:
    """Return the softmax of each row of 1024 x 1024."""
    a = te.placeholder((1024, 1024), name="A")
    k, m = te.reduce_axis((0, 1024), "k"), te.reduce_axis((0, 1024), "m")
    top = te.compute((1024,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute((1024, 1024), lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((1024,), lambda i: te.sum(power[i, m], axis=m), name="total")
    out = te.compute((1024, 1024), lambda i, j: power[i, j] / total[i], name="B")
    return te.create_prim_func([a, out])


def layer_norm() -> Any:
    """Return each row of 1024 x 1024 less its mean, over its deviation."""
    n = 1024
    a = te.placeholder((n, n), name="A")
    k, m = te.reduce_axis((0, n), "k"), te.reduce_axis((0, n), "m")
    total = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="total")
    squares = te.compute((n,), lambda i: te.sum(a[i, m] * a[i, m], axis=m), name="squares")

    def normalized(i: Any, j: Any) -> Any:
        mean = total[i] / n
        return (a[i, j] - mean) * te.rsqrt(squares[i] / n - mean * mean + 1e-5)

    return te.create_prim_func([a, te.compute((n, n), normalized, name="B")])


def stencil() -> Any:
    """Return the mean of seven neighbours in 128 x 128 x 128."""
    a = te.placeholder((130, 130, 130), name="A")
    steps = [(1, 1, 1), (0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2)]

    def mean(i: Any, j: Any, k: Any) -> Any:
        return sum((a[i + x, j + y, k + z] for x, y, z in steps[1:]), a[i + 1, j + 1, k + 1]) / 7.0

    return te.create_prim_func([a, te.compute((128, 128, 128), mean, name="B")])


KERNELS: dict[str, Callable[[], Any]] = {
    "matmul 512": lambda: matmul(512),
    "matmul 1024": lambda: matmul(1024),
    "convolution": convolution,
    "depthwise": depthwise,
    "softmax": softmax,
    "layer norm": layer_norm,
    "attention": attention,
    "stencil": stencil,
}


def milliseconds_of_candidate(func: Any) -> float:
    """Return the processor time of a candidate: drawn, checked, told from others, ranked."""
    space, model = tuning.Space(func, tuning.generated), tuning.AnalyticModel(ls.Target(TARGET))
    times = []
    for _ in range(3):
        rng = random.Random(1)
        begin = time.thread_time()
        for _ in range(CANDIDATES):
            try:
                sch = space.draw(rng)
                model.predict(tuning.Candidate(sch).scheduled)
            except (ls.ScheduleError, ls.LowerError):
                continue
        times.append((time.thread_time() - begin) / CANDIDATES * 1e3)
    return min(times)


def searched(func: Any, seconds: float, **options: Any) -> tuple[Any, float]:
    """Return what a search finds, and how many candidates it measured in a second."""
    begin = time.perf_counter()
    best = ls.tune(func, trials=1_000_000, seconds=seconds, **options)
    return best, len(best.trials) / (time.perf_counter() - begin)


def beside_numpy(best: Any, n: int) -> float:
    """Return the ratio of NumPy's product to the schedule that was found, in turns."""
    a, b = np.random.default_rng(0).standard_normal((2, n, n)).astype(np.float32)
    c, d = np.zeros((2, n, n), np.float32)
    module = best.build()
    medians = interleaved(
        {"NumPy": lambda: np.matmul(a, b, out=c), "found": lambda: module(a, b, d)}, 30, pause=0.01
    )
    return medians["NumPy"] / medians["found"]


def beside_hand(best: Any, program: Any, arguments: list[Any], rounds: int = 15) -> float:
    """Return the ratio of a schedule by hand to the one that was found, in turns."""
    modules = {"by hand": ls.build(program.schedule()), "found": best.build()}
    samples: dict[str, list[float]] = {name: [] for name in modules}
    for _ in range(rounds):
        for name, module in modules.items():
            for _ in range(2):  # The first call wakes the threads.
                own = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
                begin = time.perf_counter()
                module(*own)
                taken = time.perf_counter() - begin
            samples[name].append(taken)
    return statistics.median(samples["by hand"]) / statistics.median(samples["found"])


def main() -> None:
    """Search for each program, and print the ratios."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    wanted = sys.argv[2:] or [*KERNELS, *LONG_TAIL]
    costs = [
        (
            name,
            f"{cost:.2f}",
            f"{CANDIDATE_MILLISECONDS:.2f}",
            verdict(cost, CANDIDATE_MILLISECONDS),
        )
        for name in wanted
        if name in KERNELS
        for cost in [milliseconds_of_candidate(KERNELS[name]())]
    ]
    print_table("Processor time of a candidate", ("program", "ms", "goal", ""), costs)
    rows: list[tuple[object, ...]] = []
    for name in wanted:
        if name in KERNELS:
            best, rate = searched(KERNELS[name](), seconds)
            hand = ""
        else:
            program = LONG_TAIL[name]
            arguments = program.arguments(LONG_TAIL_SIZES.get(name, 1_000_000))
            best, rate = searched(program.func, seconds, arguments=arguments)
            hand = f"{beside_hand(best, program, arguments):.2f}"
        numpy = f"{beside_numpy(best, int(name.split()[1])):.2f}" if "matmul" in name else ""
        met = "yes" if best.speedup >= GOAL else "no"
        rows.append(
            (
                name,
                f"{best.seconds * 1e6:.1f}",
                f"{best.default_seconds * 1e6:.1f}",
                f"{best.speedup:.2f}",
                numpy,
                hand,
                len(best.trials),
                f"{rate:.1f}",
                met,
            )
        )
        print(best, flush=True)
    what = ("program", "found [us]", "default [us]", "ratio", "NumPy", "by hand")
    head = (*what, "trials", "trials/s", "goal")
    print_table(f"Searches of {seconds:.0f} s; goal: {GOAL} times the default schedule", head, rows)


if __name__ == "__main__":
    main()
