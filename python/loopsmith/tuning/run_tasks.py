# SPDX-License-Identifier: Apache-2.0
"""Takes steps of tasks until trials or time are used up, and returns what they have found."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

from .results.progress import Display
from .share import AnyTask, next_task


def run_tasks(
    tasks: Sequence[AnyTask],
    trials: int,
    deadline: float | None,
    patience: int | None,
    regret: float | None,
    shown: Display,
) -> bool:
    """Take steps of tasks until the trials or the time are used up; whether it was interrupted."""
    # A tenth of the time is for the last measurements.
    last = math.inf if deadline is None else deadline - 0.1 * (deadline - time.monotonic())
    done = 0
    warned: set[str] = set()
    try:
        while done < trials:
            task = next_task(tasks, patience, regret)
            is_late = time.monotonic() >= last
            if task is None or (is_late and task.trials):  # Each has one candidate at least.
                break
            done += task.step(trials - done, last)
            _warn_of_lost_trials(task, warned)
            shown.update(tasks)
    except (KeyboardInterrupt, ConnectionError):  # The latter: of a remote runner.
        return True
    return False


def finished(task: Any, was_interrupted: bool, options: dict[str, Any]) -> Any:
    """Return what a task has found; an interrupt leaves out the last measurements."""
    try:
        return task.finish(options, was_interrupted)
    except (KeyboardInterrupt, ConnectionError):
        return task.finish(options, was_interrupted=True, finalists=0)


def _warn_of_lost_trials(task: AnyTask, warned: set[str]) -> None:
    """Tell once that trials of a function are kept no more."""
    if not task.keep_failure or task.func.name in warned:
        return
    warned.add(task.func.name)
    text = f"tune: goes on without a record: {task.keep_failure}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
