# SPDX-License-Identifier: Apache-2.0
"""Plots of a search, by matplotlib."""

from __future__ import annotations

import importlib
import importlib.util
import io
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import _core

if TYPE_CHECKING:
    from ..sizes.sized import TunedSizes
    from .result import Trial, Tuned

MAX_CHOICES = 4
MAX_LABELS = 6


def figure(tuned: Tuned) -> Any:
    """Draw a search: times as it went on, times with each decision, the roofline.

    Raises
    ------
    UserError
        matplotlib is not installed.
    """
    draws = [
        partial(_draw_times, tuned.trials, tuned.default_seconds),
        partial(_draw_decisions, tuned),
        *([partial(_draw_roofline, tuned)] if tuned.limit else []),
    ]
    return _figure(tuned.func.name, draws)


def figure_of_sizes(tuned: TunedSizes) -> Any:
    """Draw a search over sizes: times as it went on, and of a call over each size that varies.

    Raises
    ------
    UserError
        matplotlib is not installed.
    """
    default = sum(row.weight * row.default_seconds for row in tuned.rows)
    varying = [
        name for name in tuned.rows[0].sizes if len({row.sizes[name] for row in tuned.rows}) > 1
    ]
    draws = [
        partial(_draw_times, tuned.trials, default),
        *(partial(_draw_sizes, tuned, name) for name in varying),
    ]
    return _figure(tuned.func.name, draws)


def written(drawn: Any, path: str | os.PathLike[str] | None) -> Any:
    """Write a figure where a path is given, and return it."""
    if path is not None:
        drawn.savefig(path)
    return drawn


def _figure(title: str, draws: Sequence[Callable[[Any], None]]) -> Any:
    try:
        module: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        _core.fail(
            "UserError",
            "matplotlib_is_installed",
            "plot: matplotlib is not installed",
            hint="install matplotlib",
        )
    drawn = module.Figure(figsize=(6 * len(draws), 4), layout="constrained")
    for draw, axes in zip(draws, drawn.subplots(1, len(draws), squeeze=False)[0]):
        draw(axes)
    drawn.suptitle(title)
    return drawn


def _draw_times(trials: Sequence[Trial], default_seconds: float, axes: Any) -> None:
    """Draw the time of each candidate, the best so far and the default schedule's."""
    measured = [trial for trial in trials if math.isfinite(trial.seconds)]
    elapsed = [trial.elapsed for trial in measured]
    times = [trial.seconds * 1e6 for trial in measured]
    axes.plot(elapsed, times, ".", label="candidates")
    axes.step(elapsed, best_so_far(times), where="post", label="best so far")
    axes.axhline(default_seconds * 1e6, linestyle="--", label="default schedule")
    axes.set_yscale("log")
    axes.set_xlabel("time since the search began [s]")
    axes.set_ylabel("time of a call [us]")
    axes.legend()


def _draw_sizes(tuned: TunedSizes, name: str, axes: Any) -> None:
    """Draw what a call takes by one of the sizes."""
    rows = sorted(tuned.rows, key=lambda row: row.sizes[name])
    sizes = [row.sizes[name] for row in rows]
    for label, style, times in (
        ("default schedule", "--", [row.default_seconds for row in rows]),
        ("this function", "o-", [row.seconds for row in rows]),
        ("quickest of each size", ".", [row.best_seconds for row in rows]),
    ):
        axes.plot(sizes, [seconds * 1e6 for seconds in times], style, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(name)
    axes.set_ylabel("time of a call [us]")
    axes.legend()


def _draw_decisions(tuned: Tuned, axes: Any) -> None:
    """Draw the median times with each decision of the choices that mattered most."""
    for effect in tuned.explain()[:MAX_CHOICES]:
        ranks = range(1, len(effect.seconds) + 1)
        times = [seconds * 1e6 for seconds in effect.seconds.values()]
        (line,) = axes.plot(ranks, times, "o-", label=effect.line.partition(" = ")[2][:40])
        for rank, (text, seconds) in zip(ranks, effect.seconds.items()):
            if rank <= MAX_LABELS:
                axes.annotate(text, (rank, seconds * 1e6), color=line.get_color(), fontsize=7)
    axes.set_yscale("log")
    axes.set_xlabel("decisions of what mattered most, by their rank")
    axes.set_ylabel("median time of a call [us]")
    if axes.lines:
        axes.legend(fontsize=7)


def _draw_roofline(tuned: Tuned, axes: Any) -> None:
    """Draw what the machine does at most, by operations a byte, and what the schedules do."""
    limit = tuned.limit
    assert limit is not None
    intensity = max(limit.flops, 1.0) / limit.bytes
    ridge = limit.peak_flops / limit.bandwidth
    ends = [min(intensity, ridge) / 8, ridge, max(intensity, ridge) * 8]
    roof = [min(limit.peak_flops, each * limit.bandwidth) * 1e-9 for each in ends]
    axes.plot(ends, roof, "k-", label="this machine, as measured")
    for name, seconds in (("best", tuned.seconds), ("default schedule", tuned.default_seconds)):
        axes.plot([intensity], [max(limit.flops, 1.0) / seconds * 1e-9], "o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations for each byte of the tensors")
    axes.set_ylabel("GFLOP/s")
    axes.legend()


def svg(draw: Callable[[], Any]) -> str | None:
    """Return what draws a figure as SVG; None where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    text = io.StringIO()
    draw().savefig(text, format="svg")
    return text.getvalue()[text.getvalue().index("<svg") :]


def best_so_far(times: list[float]) -> list[float]:
    """Return the smallest of each prefix."""
    found: list[float] = []
    for each in times:
        found.append(min(each, found[-1]) if found else each)
    return found
