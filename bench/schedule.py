# SPDX-License-Identifier: Apache-2.0
"""How many schedule steps Python applies in a second, with all their checks, beside the goals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from measure import print_table
from whole_schedules import whole_schedules

import loopsmith as ls
from loopsmith import te, tir

Round = Callable[[tir.Schedule], int]

SHORTEST_ROUND = 1e-4
"""Seconds; the clock of a thread is off by a microsecond."""


def chain(blocks: int, depth: int = 4) -> tir.PrimFunc:
    """Return elementwise stages one after another; loops of 64, those below the fourth of 2."""
    shape = (64,) * 4 + (2,) * (depth - 4)
    first = te.placeholder(shape, "float32", name="A")
    last = first
    for i in range(blocks):
        before = last
        last = te.compute(shape, _plus_one(before), name=f"B{i}")
    return te.create_prim_func([first, last])


def _plus_one(before: te.Tensor) -> Callable[..., tir.Expr]:
    return lambda *indices: before[indices] + 1.0


def matmul(n: int = 1024) -> tir.PrimFunc:
    """Return C = A @ B."""
    a = te.placeholder((n, n), "float32", name="A")
    b = te.placeholder((n, n), "float32", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def per_step(func: tir.PrimFunc, run: Round, budget: float = 0.2) -> float:
    """Return the seconds of a step, the best of rounds that each start from a copy.

    Its first change makes a copy's lists its own; that is timed apart, by `first_change`.
    """
    fresh = tir.Schedule(func, seed=1)
    block = "B2" if len(fresh.get_child_blocks("root")) > 1 else "C"
    best, end = float("inf"), time.thread_time() + budget
    while time.thread_time() < end:
        sch = fresh.copy()
        sch.annotate(sch.get_loops(block)[0], "first", 1)
        start = time.thread_time()
        steps = run(sch)
        best = min(best, (time.thread_time() - start) / steps)
    return best


def first_change(sch: tir.Schedule) -> None:
    """Copy a schedule and change a loop of the copy."""
    copy = sch.copy()
    copy.annotate(copy.get_loops("B2")[0], "first", 1)


def cheap_steps() -> dict[str, Round]:
    """Return the steps of which 100,000 a second are the goal."""

    def get_loops(sch: tir.Schedule) -> int:
        block = sch.get_block("B2")
        for _ in range(50):
            sch.get_loops(block)
        return 51

    def annotate(sch: tir.Schedule) -> int:
        loop = sch.get_loops("B2")[1]
        for i in range(50):
            sch.annotate(loop, "a" if i % 2 else "b", 1)
        return 52

    def reorder(sch: tir.Schedule) -> int:
        _, i, j, _ = sch.get_loops("B2")[:4]
        for _ in range(25):
            sch.reorder(j, i)
            sch.reorder(i, j)
        return 52

    def split_and_fuse(sch: tir.Schedule) -> int:
        loop = sch.get_loops("B2")[1]
        for _ in range(25):
            loop = sch.fuse(*sch.split(loop, [None, 8]))
        return 52

    def split(sch: tir.Schedule) -> int:
        loop = sch.get_loops("B2")[1]
        for _ in range(5):
            loop = sch.split(loop, [None, 2])[0]
        return 7

    return {
        "get_loops": get_loops,
        "annotate": annotate,
        "reorder": reorder,
        "split": split,
        "split and fuse": split_and_fuse,
    }


def heavy_steps() -> dict[str, tuple[tir.PrimFunc, Round]]:
    """Return the steps of which 20,000 a second are the goal."""

    def one(step: Callable[[tir.Schedule], object]) -> Round:
        return lambda sch: (step(sch), 1)[1]

    return {
        "compute_at": (chain(5), one(lambda sch: sch.compute_at("B1", sch.get_loops("B2")[1]))),
        "reverse_compute_at": (
            chain(5),
            one(lambda sch: sch.reverse_compute_at("B2", sch.get_loops("B1")[1])),
        ),
        "cache_read": (chain(5), one(lambda sch: sch.cache_read("B2", 0, "local"))),
        "rfactor": (matmul(), one(lambda sch: sch.rfactor(sch.get_loops("C")[2], 0))),
        "transform_layout": (
            chain(5),
            one(lambda sch: sch.transform_layout("B2", ("write", 0), _tiles)),
        ),
        "parallel": (chain(5), one(lambda sch: sch.parallel(sch.get_loops("B2")[0]))),
    }


def _tiles(a: tir.Expr, b: tir.Expr, c: tir.Expr, d: tir.Expr) -> list[tir.Expr]:
    return [a // 4, b, c, d, a % 4]


def tile(sch: tir.Schedule) -> None:
    """Schedule a matmul as one would by hand."""
    i, j, k = sch.get_loops("C")
    i0, i1, i2, i3 = sch.split(i, [None, 4, 8, 2])
    j0, j1, j2, j3 = sch.split(j, [None, 2, 4, 16])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i0, j0, i1, j1, k0, i2, j2, k1, i3, j3)
    outer = sch.fuse(i0, j0)
    sch.parallel(outer)
    sch.vectorize(j3)
    sch.unroll(i3)
    sch.unroll(k1)
    sch.annotate(outer, "pragma_auto_unroll_max_step", 64)


def best_of(call: Callable[[], object], budget: float = 0.3) -> float:
    """Return the seconds of a call, the best of many rounds; short calls share a round."""

    def seconds_of(calls: int) -> float:
        start = time.thread_time()
        for _ in range(calls):
            call()
        return time.thread_time() - start

    calls = 1
    while seconds_of(calls) < SHORTEST_ROUND:
        calls *= 2
    best, end = float("inf"), time.thread_time() + budget
    while time.thread_time() < end:
        best = min(best, seconds_of(calls) / calls)
    return best


def replayed(func: tir.PrimFunc, trace: tir.Trace) -> float:
    """Return the seconds of a replay, the best of many."""
    return best_of(lambda: trace.apply_to_schedule(tir.Schedule(func, seed=1)))


def two_threads(trace: tir.Trace, func: tir.PrimFunc, rounds: int = 100) -> float:
    """Return how many times as much two threads replay as one, each on a function of its own."""
    functions = [ls.from_json(ls.to_json(func)) for _ in range(2)]

    def replays(own: tir.PrimFunc) -> None:
        for _ in range(rounds):
            trace.apply_to_schedule(tir.Schedule(own, seed=1))

    def elapsed(count: int) -> float:
        threads = [threading.Thread(target=replays, args=(own,)) for own in functions[:count]]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start

    ratios = [2 * elapsed(1) / elapsed(2) for _ in range(5)]
    return max(ratios)


def main() -> None:
    """Print the tables."""

    def row(name: str, each: float, goal: float) -> list[object]:
        rate = 1 / each
        met = "met" if rate >= goal else "MISSED"
        return [name, f"{each * 1e6:.2f}", f"{rate:,.0f}", f"{goal:,.0f}", met]

    rows = []
    for blocks, depth in [(5, 4), (10, 4), (1000, 4), (5, 15), (5, 30)]:
        func = chain(blocks, depth)
        for name, run in cheap_steps().items():
            where = f"{name}, {blocks} blocks, {depth} loops"
            rows.append(row(where, per_step(func, run), 100_000))
    for name, (func, run) in heavy_steps().items():
        rows.append(row(name, per_step(func, run), 20_000))
    print_table("Schedule steps from Python", ["step", "us", "a second", "goal", ""], rows)

    func = matmul()
    sch = tir.Schedule(func, seed=1)
    tile(sch)
    trace = sch.trace
    big = tir.Schedule(chain(1000), seed=1)
    rows = [
        row("copy, 1 block", best_of(sch.copy), 200_000),
        row("copy, 1000 blocks", best_of(big.copy), 20_000),
        row("copy and a change, 1000 blocks", best_of(lambda: first_change(big)), 20_000),
        row(
            f"matmul in {len(trace)} steps", best_of(lambda: tile(tir.Schedule(func, seed=1))), 1000
        ),
        row("replay it", replayed(func, trace), 4000),
    ]
    for name, (program, steps) in whole_schedules(func).items():
        done = tir.Schedule(program, seed=1)
        steps(done)
        rows.append(row(f"{name}, {len(done.trace)} steps", replayed(program, done.trace), 3333))
    print_table("Whole schedules", ["what", "us", "a second", "goal", ""], rows)
    times = two_threads(trace, func)
    print_table(
        "Replays of two threads, each on its own function",
        ["", "times one", "goal", ""],
        [["replay", f"{times:.2f}", 1.8, "met" if times >= 1.8 else "MISSED"]],
    )


if __name__ == "__main__":
    main()
