# SPDX-License-Identifier: Apache-2.0
"""Scripts of plain loops by the default schedule, beside gcc.

gcc compiles, with -O3 -march=native -ffast-math, the C that our own back end writes of the program
as it is written, with the promise that arrays do not overlap; our function gets no such promise.
In each round all variants run once, on fresh arrays; medians of processor time count. Ratios are
gcc's time over ours: above 1, the default schedule is faster. Results are compared.

    python bench/loops/compare.py polybench gemm lu     some kernels of a suite
    python bench/loops/compare.py tsvc --threads 2      with two threads, by wall time
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from polybench import KERNELS, Array, Kernel
from tsvc import LOOPS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from measure import print_table

import loopsmith as ls

SUITES: dict[str, Mapping[str, Kernel]] = {"polybench": KERNELS, "tsvc": LOOPS}
FLAGS = ["-O3", "-march=native", "-ffast-math", "-std=gnu11"]
#: The least ratio that a kernel of a suite should have, and the least geometric mean.
GOALS = {"polybench": (0.9, 1.0), "tsvc": (0.8, 1.0)}
#: What may differ where sums are added up in another order.
TOLERANCES = {"float64": 1e-6, "float32": 1e-2}


def by_gcc(kernel: Kernel, folder: Path) -> Any:
    """Return the program as it is written, compiled by gcc from our C."""
    module = ls.build(kernel.func(noalias=True), "c", default_schedule=False)
    source, library = folder / f"{kernel.name}.c", folder / f"{kernel.name}.so"
    module.export(str(source))
    command = ["gcc", *FLAGS, "-shared", "-fPIC", source, "-o", library, "-lm", "-lpthread"]
    subprocess.run(command, check=True)
    return ls.load_module(str(library))


def medians(
    calls: Mapping[str, Callable[..., object]],
    arguments: list[Array],
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Return the median seconds of each call, made in turns, each on the same values."""
    work = [np.copy(each) for each in arguments]
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            for array, fresh in zip(work, arguments):
                np.copyto(array, fresh)
            start = clock()
            call(*work)
            samples[name].append(clock() - start)
    return {name: statistics.median(taken) for name, taken in samples.items()}


def differences(kernel: Kernel, one: Any, other: Any) -> str:
    """Say which results of two functions differ; nothing where none does."""
    results = []
    for function in (one, other):
        arrays = [np.copy(each) for each in kernel.arguments()]
        function(*arrays)
        results.append(arrays)
    for (name, dtype, _), a, b in zip(kernel.shapes(), *results):
        tolerance = TOLERANCES.get(dtype, 0)
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"{name} differs"
    return ""


def main() -> None:
    """Print a table of each suite, or of some of its kernels."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    known = SUITES[options.suite]
    clock = time.process_time if options.threads == 1 else time.perf_counter
    least, least_mean = GOALS[options.suite]
    ratios: dict[str, float] = {}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.kernels or known:
            kernel = known[name]
            start = time.process_time()
            ours = ls.build(kernel.func(), num_threads=options.threads)
            build = time.process_time() - start
            plain = ls.build(kernel.func(), default_schedule=False)
            gcc = by_gcc(kernel, Path(folder))
            wrong = differences(kernel, ours, gcc)
            taken = medians(
                {"ours": ours, "plain": plain, "gcc": gcc},
                kernel.arguments(),
                options.rounds,
                clock,
            )
            ratios[name] = taken["gcc"] / taken["ours"]
            rows.append(
                [
                    name,
                    *(f"{taken[each] * 1e3:.3f}" for each in ("ours", "plain", "gcc")),
                    f"{ratios[name]:.2f}",
                    f"{build * 1e3:.0f}",
                    wrong or ("" if ratios[name] >= least else "MISSED"),
                ]
            )
            print(*rows[-1], file=sys.stderr, flush=True)
    title = f"{options.suite}, {options.threads} threads: each >= {least}, mean >= {least_mean}"
    head = ["kernel", "ms", "unscheduled", "gcc", "gcc / ours", "build ms", ""]
    print_table(title, head, rows)
    mean = math.exp(statistics.fmean(math.log(each) for each in ratios.values()))
    print(f"geometric mean {mean:.2f}, least {min(ratios.values()):.2f}, of {len(ratios)}")


if __name__ == "__main__":
    main()
