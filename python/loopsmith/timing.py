# SPDX-License-Identifier: Apache-2.0
"""Measurements: how they are shown, and two programs measured side by side."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core
from ._core import Timing
from .display import escaped


def seconds_text(seconds: float) -> str:
    """Return a time as people write it: ``1.25 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def html(timing: Timing) -> str:
    """Return what notebooks show of a measurement."""
    rows = [(name, seconds_text(getattr(timing, name))) for name in ("min", "p10", "median", "p90")]
    if timing.gflops is not None:
        rows.append(("GFLOP/s", f"{timing.gflops:.4g}"))
    if timing.gbps is not None:
        rows.append(("GB/s", f"{timing.gbps:.4g}"))
    cells = "".join(f"<tr><th>{name}</th><td>{escaped(text)}</td></tr>" for name, text in rows)
    return f"<table>{cells}</table>"


def plot(timing: Timing, axes: Any = None) -> Any:
    """Draw the samples in the order in which they were taken; return the axes of matplotlib."""
    if axes is None:
        try:
            pyplot: Any = importlib.import_module("matplotlib.pyplot")
        except ImportError:
            _core.fail(
                "UserError",
                "matplotlib_is_installed",
                "plot: matplotlib is not installed",
                hint="install matplotlib",
            )
        axes = pyplot.gca()
    axes.plot([sample * 1e6 for sample in timing.samples], ".")
    axes.axhline(timing.median * 1e6, linestyle="--", label=f"median {seconds_text(timing.median)}")
    axes.set_xlabel("sample")
    axes.set_ylabel("time of a call [us]")
    axes.legend()
    return axes


@dataclass(frozen=True)
class Comparison:
    """Two programs measured in turns, so that what the machine does meanwhile meets both."""

    first: Timing
    second: Timing

    @property
    def speedup(self) -> float:
        """How many times quicker the second is: the median of the ratios of neighbours."""
        ratios = sorted(a / b for a, b in zip(self.first.samples, self.second.samples))
        return ratios[len(ratios) // 2]

    @property
    def range(self) -> tuple[float, float]:
        """The ratios that a tenth and nine tenths of the pairs are below."""
        ratios = sorted(a / b for a, b in zip(self.first.samples, self.second.samples))
        return ratios[len(ratios) // 10], ratios[(len(ratios) * 9) // 10]

    def __str__(self) -> str:
        """Return the medians, and how many times quicker the second is."""
        low, high = self.range
        return (
            f"first {seconds_text(self.first.median)}, second {seconds_text(self.second.median)}: "
            f"the second is {self.speedup:.3g} times as quick ({low:.3g} to {high:.3g})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escaped(str(self))}</p>"


def compare(
    first: Callable[..., Any],
    second: Callable[..., Any],
    *args: Any,
    repeat: int = 20,
    seconds: float = 1e-3,
) -> Comparison:
    """Measure two programs on the same arguments, a sample of one, a sample of the other.

    Parameters
    ----------
    first, second
        Compiled modules or functions, or anything that can be called.
    *args
        The arguments of a call; what is written is written.
    repeat
        How many samples of each.
    seconds
        How long a sample takes at least.
    """
    if repeat < 1:
        _core.fail(
            "BoundsError",
            "repeat_is_positive",
            f"compare: repeat is {repeat}, not positive",
            hint="pass 1 or more",
        )
    programs = (first, second)
    counts = [_calls_in(seconds, program, args) for program in programs]
    samples: tuple[list[float], list[float]] = ([], [])
    for i in range(repeat):
        # Which goes first alternates: the second finds caches as the first left them.
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            samples[which].append(_sample(programs[which], args, counts[which]))
    return Comparison(Timing(samples[0]), Timing(samples[1]))


def _sample(program: Callable[..., Any], args: tuple[Any, ...], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        program(*args)
    return (time.perf_counter() - begin) / count


def _calls_in(seconds: float, program: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Return how many calls take so long; the first warm everything up."""
    _sample(program, args, 1)
    count = 1
    while (took := _sample(program, args, count) * count) < seconds and count < 1 << 20:
        count = max(count * 2, int(count * seconds / max(took, 1e-9)))
    return min(count, 1 << 20)
