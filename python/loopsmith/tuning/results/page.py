# SPDX-License-Identifier: Apache-2.0
"""A report of a search as one page of HTML."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...display import code_html, escaped
from ...timing import seconds_text
from .plots import figure, figure_of_sizes, svg

if TYPE_CHECKING:
    from ..sizes.sized import TunedSizes
    from .result import Effect, Explanation, Trial, Tuned

STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:auto}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.2em .8em;border-bottom:1px solid #ccc}"
)
MAX_DECISIONS = 8
NO_PLOT = "<p>Install matplotlib for a plot.</p>"


def page(title: str, reports: Iterable[str], path: str | os.PathLike[str] | None) -> str:
    """Return a page with some reports; with a path, write it there, too."""
    text = (
        f"<!doctype html><html><head><meta charset='utf-8'><title>{escaped(title)}</title>"
        f"<style>{STYLE}</style></head><body>{''.join(reports)}</body></html>"
    )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def report(tuned: Tuned) -> str:
    """Return the times, a plot, what mattered, what failed, the steps and the program."""
    return (
        f"<h1>{escaped(tuned.func.name)}</h1><p>{escaped(str(tuned))}</p>{_pace(tuned.trials)}"
        f"{svg(partial(figure, tuned)) or NO_PLOT}"
        f"<h2>What mattered</h2>{_effects(tuned.explain())}<h2>What failed</h2>{_failures(tuned)}"
        f"<h2>The schedule</h2>{code_html(str(tuned.trace))}"
        f"<h2>The program</h2>{code_html(tuned.schedule.func.script())}"
    )


def report_of_sizes(tuned: TunedSizes) -> str:
    """Return the tree, times for each of the drawn sizes, plots, what mattered, the program."""
    effects = "".join(
        f"<h2>What mattered in variant {variant}</h2>{_effects(tuned.explain(variant))}"
        for variant in range(1, len(tuned.schedules) + 1)
    )
    return (
        f"<h1>{escaped(tuned.func.name)}</h1><pre>{escaped(str(tuned))}</pre>{_pace(tuned.trials)}"
        f"{svg(partial(figure_of_sizes, tuned)) or NO_PLOT}{effects}"
        f"<h2>What failed</h2>{_failures(tuned)}"
        f"<h2>The program</h2>{code_html(tuned.function().script())}"
    )


def _pace(trials: Sequence[Trial]) -> str:
    """Return how many candidates there were, how long they took, and when the best one came."""
    if not trials:
        return "<p>No candidate was measured.</p>"
    elapsed = trials[-1].elapsed
    best = min(trials, key=lambda trial: trial.seconds)
    return (
        f"<p>{len(trials)} candidates in {seconds_text(elapsed)}, "
        f"{len(trials) / max(elapsed, 1e-9):.3g} a second; "
        f"the quickest after {seconds_text(best.elapsed)}.</p>"
    )


def _effects(explanation: Explanation) -> str:
    rows = "".join(_effect_row(effect) for effect in explanation)
    if not rows:
        return "<p>No choice was measured with two decisions.</p>"
    return f"<table><tr><th>times</th><th>choice</th><th>decisions</th></tr>{rows}</table>"


def _effect_row(effect: Effect) -> str:
    decisions = list(effect.seconds.items())
    shown = [f"{text}: {seconds_text(seconds)}" for text, seconds in decisions[:MAX_DECISIONS]]
    more = len(decisions) - len(shown)
    text = ", ".join(shown) + (f", and {more} slower" if more else "")
    return (
        f"<tr><td>{effect.ratio:.3g}</td><td><code>{escaped(effect.line)}</code></td>"
        f"<td>{escaped(text)}</td></tr>"
    )


def _failures(tuned: Tuned | TunedSizes) -> str:
    examples = {trial.failure: trial.detail for trial in reversed(tuned.trials) if trial.failure}
    counts = Counter(trial.failure for trial in tuned.trials if trial.failure)
    rows = "".join(
        f"<tr><td>{escaped(kind)}</td><td>{count}</td><td>{escaped(examples[kind])}</td></tr>"
        for kind, count in counts.most_common()
    )
    rows += "".join(
        f"<tr><td>refused: {escaped(condition)}</td><td>{count}</td><td></td></tr>"
        for condition, count in sorted(tuned.refused.items(), key=lambda item: -item[1])
    )
    if not rows:
        return "<p>Nothing.</p>"
    return f"<table><tr><th>what</th><th>how many</th><th>for example</th></tr>{rows}</table>"
