# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: medians of interleaved runs, and tables."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence


def clean_environment() -> dict[str, str]:
    """Return the environment without what would slow the libraries down that we compare with."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long one call takes."""
    start = clock()
    call()
    return clock() - start


def interleaved(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    pause: float = 0.0,
) -> dict[str, float]:
    """Return the median seconds of each call; in each round all of them run once.

    So what slows the machine down for a while slows all of them. With ``time.thread_time`` as the
    clock, what other programs take does not count. With a pause, each call runs three more times,
    `pause` seconds after the one before: threads of a library that go on spinning have stopped by
    then, and those of this call, which sleeping processors are slow to wake, are awake.
    """
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(warmup + rounds):
        for name, call in calls.items():
            if pause:
                time.sleep(pause)
                for _ in range(3):
                    call()
            taken = seconds(call, clock)
            if round_ >= warmup:
                samples[name].append(taken)
    return {name: statistics.median(taken) for name, taken in samples.items()}


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; all columns but the first are aligned to the right."""
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head), *lines]) for i in range(len(head))]
    print(f"\n{title}")
    for line in [list(head), ["-" * width for width in widths], *lines]:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        )
        print("  ".join([first, *others]).rstrip(), flush=True)


def verdict(value: float, goal: float) -> str:
    """Say whether a value that should be small is."""
    return "met" if value <= goal else "MISSED"
