# SPDX-License-Identifier: Apache-2.0
"""The charts of searches, drawn by matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Chart, SearchReport


def figure(reports: Sequence[SearchReport]) -> Any:
    """Draw the charts of some reports, a row for each.

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
            hint="install matplotlib, or write the charts as .svg",
        )
    columns = max(len(each.charts) for each in reports)
    size = (6 * columns, 4 * len(reports))
    drawn = module.Figure(figsize=size, layout="constrained")
    grid = drawn.subplots(len(reports), columns, squeeze=False)
    for row, each in zip(grid, reports):
        for axes, chart in zip(row, each.charts):
            _draw(chart, axes)
        for axes in row[len(each.charts) :]:
            axes.set_axis_off()
    drawn.suptitle(", ".join(each.name for each in reports))
    return drawn


def _draw(chart: Chart, axes: Any) -> None:
    for series in chart.series:
        if series.look == "steps":
            axes.step(series.x, series.y, where="post", label=series.name)
            continue
        (line,) = axes.plot(series.x, series.y, series.look, label=series.name)
        for label, x, y in zip(series.labels, series.x, series.y):
            axes.annotate(label, (x, y), color=line.get_color(), fontsize=7)
    axes.set_xscale("log" if chart.is_x_log else "linear")
    axes.set_yscale("log" if chart.is_y_log else "linear")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.series:
        axes.legend(fontsize=7)
