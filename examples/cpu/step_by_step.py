# SPDX-License-Identifier: Apache-2.0
"""What the tutorials of this folder share: programs whose steps are checked and measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import loopsmith as ls
from loopsmith import tir

Array = Any
Step = Callable[[tir.PrimFunc], tir.Schedule]
PROCESSOR = ls.Target("llvm -mcpu=native")


def lanes(bits: int = 32) -> int:
    """Return how many elements of so many bits a vector of this processor has."""
    return PROCESSOR.vector_bits // bits


def as_written(func: tir.PrimFunc) -> tir.Schedule:
    """Return a schedule that decides nothing; its note keeps rules from scheduling the program."""
    sch = tir.Schedule(func)
    sch.annotate("root", "step", "as written")
    return sch


def numbers(*shape: int, seed: int = 0) -> Array:
    """Return random float32 numbers about 0."""
    return np.random.default_rng(seed).standard_normal(shape, "float32")


@dataclass(frozen=True)
class Tutorial:
    """A program, its schedule step by step, and NumPy's answer.

    Attributes
    ----------
    name
        What the program computes.
    program
        The program, for sizes.
    steps
        Each makes a schedule of it, further than the one before.
    operands
        Random operands, for sizes.
    by_numpy
        The result, of operands in any type; in double it is what is expected.
    sizes
        Those that are measured.
    small_sizes
        Those that tests run, odd ones among them.
    tolerance
        By how much a result may be off, of the largest.
    """

    name: str
    program: Callable[..., tir.PrimFunc]
    steps: Sequence[Step]
    operands: Callable[..., list[Array]]
    by_numpy: Callable[..., Array]
    sizes: tuple[int, ...]
    small_sizes: Sequence[tuple[int, ...]]
    tolerance: float = 1e-5

    def check(self, call: Callable[..., Any], operands: Sequence[Array]) -> Array:
        """Call a program and compare its result with NumPy's in double; return it."""
        in_double = [
            each.astype("float64") if each.dtype.kind == "f" else each for each in operands
        ]
        expected = np.asarray(self.by_numpy(*in_double))
        kind = np.float32 if expected.dtype == np.float64 else expected.dtype
        poison = np.nan if np.dtype(kind).kind == "f" else -1
        result = np.full(expected.shape, poison, kind)
        call(*operands, result)
        largest = max(float(np.abs(expected).max()), 1e-30)
        np.testing.assert_allclose(result, expected, rtol=0, atol=self.tolerance * largest)
        return result

    def measure(self, *sizes: int, rounds: int = 15) -> dict[str, float]:
        """Check all steps, print how long they take on one thread and on all, in seconds.

        On one thread it is processor time, which what else runs does not lengthen; on all, the
        shortest time. NumPy has one thread where ``OPENBLAS_NUM_THREADS=1`` says so.
        """
        sizes = sizes or self.sizes
        func = self.program(*sizes)
        operands = self.operands(*sizes)
        modules = {step.__name__: ls.build(step(func), num_threads=1) for step in self.steps}
        modules["by default"] = ls.build(func, num_threads=1)
        results = {name: self.check(module, operands) for name, module in modules.items()}
        calls = {
            name: partial(module, *operands, results[name]) for name, module in modules.items()
        }
        calls["NumPy"] = partial(self.by_numpy, *operands)
        taken = interleaved(calls, rounds, time.process_time)
        on_all = {
            f"{self.steps[-1].__name__}, all threads": ls.build(self.steps[-1](func)),
            "by default, all threads": ls.build(func),
        }
        result = results["by default"]
        shared = {name: partial(module, *operands, result) for name, module in on_all.items()}
        taken |= interleaved(shared, rounds, time.perf_counter, min)
        print(f"{self.name}, {' x '.join(map(str, sizes))}")
        for name, seconds in taken.items():
            print(f"  {name.replace('_', ' '):<36} {seconds * 1e3:9.3f} ms")
        return taken


def interleaved(
    calls: dict[str, Callable[[], Any]],
    rounds: int,
    clock: Callable[[], float],
    chosen: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Return the seconds of each call; in each round each has its turn."""
    counts = {name: calls_in(2e-3, call, clock) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            for _ in range(counts[name]):
                call()
            samples[name].append((clock() - start) / counts[name])
    return {name: chosen(taken) for name, taken in samples.items()}


def calls_in(seconds: float, call: Callable[[], Any], clock: Callable[[], float]) -> int:
    """Return how many calls take so long; the first warms up."""
    call()
    start = clock()
    call()
    return max(1, int(seconds / max(clock() - start, 1e-7)))
