# SPDX-License-Identifier: Apache-2.0
"""Which function of a module gets the next trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Union

from .sizes_task import SizesTask
from .task import Task

AnyTask = Union[Task, SizesTask]


WINDOW = 16
"""So many trials each task has before they compete; and over so many its gain is measured."""


def next_task(
    tasks: Sequence[AnyTask], patience: int | None, regret: float | None
) -> AnyTask | None:
    """Return the task whose next trial promises to save most time; None when all have ended.

    A task has ended when nothing new is found, when `patience` candidates in a row brought nothing,
    or when the best candidate left is expected to save less than `regret` of its best time.

    The promise is the mean of what the last trials gained each, and of what an equal share of its
    time would be, weighted by how often the function is called: the gradient scheduler of Zheng et
    al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning" (OSDI 2020).
    """
    open_tasks = [task for task in tasks if not _has_ended(task, patience, regret)]
    if not open_tasks:
        return None
    fewest = min(open_tasks, key=lambda task: len(task.trials))
    if len(fewest.trials) < WINDOW:
        return fewest
    return max(open_tasks, key=_promise)


def _has_ended(task: AnyTask, patience: int | None, regret: float | None) -> bool:
    if task.is_exhausted:
        return True
    if regret is not None and task.expected_gain < regret:
        return True
    return patience is not None and _trials_without_gain(task) >= patience


def _trials_without_gain(task: AnyTask) -> int:
    best, since = math.inf, 0
    for trial in task.trials:
        if trial.seconds < 0.99 * best:
            best, since = trial.seconds, 0
        else:
            since += 1
    return since


def _promise(task: AnyTask) -> float:
    now = task.result_seconds
    before = min(
        [task.default_seconds, *(trial.seconds for trial in task.trials[:-WINDOW])], default=now
    )
    gain = 0.0 if math.isinf(before) else (before - min(now, before)) / WINDOW
    return task.weight * 0.5 * (gain + now / len(task.trials))
