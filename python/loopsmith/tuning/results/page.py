# SPDX-License-Identifier: Apache-2.0
"""Reports of searches: a page of HTML, and its charts as SVG and PNG."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ... import _core
from ..._core import SearchReport
from ...display import code_html
from .plots import figure

if TYPE_CHECKING:
    from ..sizes.sized import TunedSizes
    from .result import Tuned


def report_of(tuned: Tuned) -> SearchReport:
    """Return the times, charts, what mattered, what failed, the steps and the program."""
    effects = tuned.explain()
    charts = [
        _core.times_chart(tuned.trials, tuned.default_seconds),
        _core.decisions_chart(effects),
    ]
    if tuned.limit is not None:
        limit = tuned.limit
        charts.append(
            _core.roofline_chart(
                limit.flops, limit.bytes, limit.peak_flops, limit.bandwidth, tuned.seconds,
                tuned.default_seconds,
            )
        )  # fmt: skip
    return SearchReport(
        tuned.func.name,
        str(tuned),
        tuned.trials,
        charts,
        [("What mattered", effects)],
        tuned.refused,
        [
            ("The schedule", code_html(str(tuned.trace))),
            ("The program", code_html(tuned.schedule.func.script())),
        ],
    )


def report_of_sizes(tuned: TunedSizes) -> SearchReport:
    """Return the tree, times for each of the drawn sizes, charts, what mattered, the program."""
    by_default = sum(row.weight * row.default_seconds for row in tuned.rows)
    return SearchReport(
        tuned.func.name,
        str(tuned),
        tuned.trials,
        [_core.times_chart(tuned.trials, by_default), *_core.sizes_charts(tuned.rows)],
        [
            (f"What mattered in variant {variant}", tuned.explain(variant))
            for variant in range(1, len(tuned.schedules) + 1)
        ],
        tuned.refused,
        [("The program", code_html(tuned.function().script()))],
    )


def page(reports: Sequence[SearchReport]) -> str:
    """Return a page of HTML with some reports."""
    return _core.page_of(", ".join(each.name for each in reports), list(reports))


def reported(reports: Sequence[SearchReport], path: str | os.PathLike[str] | None) -> str:
    """Return a page with some reports; with a path, write it there, too."""
    text = page(reports)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def written(reports: Sequence[SearchReport], paths: Sequence[str | os.PathLike[str]]) -> None:
    """Write reports into files, each in the format that its name ends with.

    Raises
    ------
    UserError
        A name ends with none of ``.html``, ``.svg`` and ``.png``; or matplotlib, which the last
        one asks for, is not installed.
    """
    for path in map(Path, paths):
        if path.suffix not in WRITERS:
            _core.fail(
                "UserError",
                "report_has_a_format",
                f"report: {path} ends with {path.suffix or 'no suffix'}",
                hint=f"end it with one of {', '.join(WRITERS)}",
            )
    for path in map(Path, paths):
        WRITERS[path.suffix](reports, path)


def _write_page(reports: Sequence[SearchReport], path: Path) -> None:
    path.write_text(page(reports), encoding="utf-8")


def _write_svg(reports: Sequence[SearchReport], path: Path) -> None:
    charts = [chart for each in reports for chart in each.charts]
    title = ", ".join(each.name for each in reports)
    path.write_text(_core.svg_of(title, charts), encoding="utf-8")


def _write_png(reports: Sequence[SearchReport], path: Path) -> None:
    figure(reports).savefig(path)


WRITERS: dict[str, Callable[[Sequence[SearchReport], Path], None]] = {
    ".html": _write_page,
    ".svg": _write_svg,
    ".png": _write_png,
}
"""What writes a report, by the end of a file's name."""
