# SPDX-License-Identifier: Apache-2.0
"""Tells how far a search is: a live line on a terminal, else a line now and then."""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ... import _core
from ..share import AnyTask

SECONDS_BETWEEN_LINES = 10.0


class Display(Protocol):
    """A function that is called after each trial."""

    def update(self, tasks: Sequence[AnyTask]) -> None:
        """Show how far the tasks are."""


@contextmanager
def display_of(progress: bool | None, trials: int, deadline: float | None) -> Iterator[Display]:
    """Return what shows a search: nothing, lines, or on a terminal with rich one live line."""
    is_terminal = sys.stderr.isatty()
    if progress is False or (progress is None and not is_terminal):
        yield _Nothing()
        return
    live = _live() if is_terminal else None
    if live is None:
        yield _Lines(trials, deadline)
        return
    with live:
        yield _Live(live, trials, deadline)


def summary(tasks: Sequence[AnyTask], trials: int, deadline: float | None, begun: float) -> str:
    """Return one line: trials and their rate, the best so far, failures, and the time left."""
    now = time.monotonic()
    failures = Counter(trial.failure for task in tasks for trial in task.trials if trial.failure)
    return _core.progress_text(
        sum(len(task.trials) for task in tasks),
        trials,
        now - begun,
        math.inf if deadline is None else deadline - now,
        [
            (task.func.name, task.best_seconds, task.default_seconds, task.limit_seconds)
            for task in tasks
        ],
        dict(failures),
    )


class _Nothing:
    def update(self, tasks: Sequence[AnyTask]) -> None:
        """Show nothing."""


class _Lines:
    """A line whenever there is a new best, and every few seconds."""

    def __init__(self, trials: int, deadline: float | None) -> None:
        self._trials = trials
        self._deadline = deadline
        self._begun = self._printed = time.monotonic()
        self._best: list[float] = []

    def update(self, tasks: Sequence[AnyTask]) -> None:
        best = [task.best_seconds for task in tasks]
        now = time.monotonic()
        if best == self._best and now - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._best, self._printed = best, now
        print(summary(tasks, self._trials, self._deadline, self._begun), file=sys.stderr)


class _Live:
    """One line that is redrawn."""

    def __init__(self, live: Any, trials: int, deadline: float | None) -> None:
        self._live = live
        self._trials = trials
        self._deadline = deadline
        self._begun = time.monotonic()

    def update(self, tasks: Sequence[AnyTask]) -> None:
        self._live.update(summary(tasks, self._trials, self._deadline, self._begun))


def _live() -> Any:
    """Return rich's live display; None where rich is not installed."""
    try:
        console: Any = importlib.import_module("rich.console")
        live: Any = importlib.import_module("rich.live")
    except ImportError:
        return None
    return live.Live("", console=console.Console(stderr=True), refresh_per_second=4)
