# SPDX-License-Identifier: Apache-2.0
"""Plots of a search, by matplotlib."""

from __future__ import annotations

import importlib
import io
import math
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from .result import Tuned

MAX_CHOICES = 4
MAX_LABELS = 6


def figure(tuned: Tuned) -> Any:
    """Draw a search: times as it went on, times with each decision, the roofline.

    Raises
    ------
    UserError
        matplotlib is not installed.
    """
    try:
        module: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        _core.fail(
            "UserError",
            "matplotlib_is_installed",
            "plot: matplotlib is not installed",
            hint="install matplotlib",
        )
    plots = [_draw_times, _draw_decisions, *([_draw_roofline] if tuned.limit else [])]
    drawn = module.Figure(figsize=(6 * len(plots), 4), layout="constrained")
    for draw, axes in zip(plots, drawn.subplots(1, len(plots))):
        draw(tuned, axes)
    drawn.suptitle(tuned.func.name)
    return drawn


def _draw_times(tuned: Tuned, axes: Any) -> None:
    """Draw the time of each candidate, the best so far and the default schedule's."""
    measured = [trial for trial in tuned.trials if math.isfinite(trial.seconds)]
    elapsed = [trial.elapsed for trial in measured]
    times = [trial.seconds * 1e6 for trial in measured]
    axes.plot(elapsed, times, ".", label="candidates")
    axes.step(elapsed, best_so_far(times), where="post", label="best so far")
    axes.axhline(tuned.default_seconds * 1e6, linestyle="--", label="default schedule")
    axes.set_yscale("log")
    axes.set_xlabel("time since the search began [s]")
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


def svg(tuned: Tuned) -> str | None:
    """Return the plot as SVG; None where matplotlib is not installed."""
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError:
        return None
    written = io.StringIO()
    figure(tuned).savefig(written, format="svg")
    text = written.getvalue()
    return text[text.index("<svg") :]


def best_so_far(times: list[float]) -> list[float]:
    """Return the smallest of each prefix."""
    found: list[float] = []
    for each in times:
        found.append(min(each, found[-1]) if found else each)
    return found
