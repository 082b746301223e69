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


def figure(tuned: Tuned) -> Any:
    """Draw the time of each candidate, the best so far and the default schedule's.

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
    drawn = module.Figure(figsize=(7, 4), layout="constrained")
    axes = drawn.subplots()
    measured = [trial for trial in tuned.trials if math.isfinite(trial.seconds)]
    elapsed = [trial.elapsed for trial in measured]
    times = [trial.seconds * 1e6 for trial in measured]
    axes.plot(elapsed, times, ".", label="candidates")
    axes.step(elapsed, best_so_far(times), where="post", label="best so far")
    axes.axhline(tuned.default_seconds * 1e6, linestyle="--", label="default schedule")
    axes.set_yscale("log")
    axes.set_xlabel("time since the search began [s]")
    axes.set_ylabel("time of a call [us]")
    axes.set_title(tuned.func.name)
    axes.legend()
    return drawn


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
