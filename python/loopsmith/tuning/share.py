# SPDX-License-Identifier: Apache-2.0
"""Which function of a module gets the next trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from .. import _core
from .sizes.sizes_task import SizesTask
from .task import Task

AnyTask = Union[Task, SizesTask]

NO_LIMIT = 2**31 - 1


def next_task(
    tasks: Sequence[AnyTask], patience: int | None, regret: float | None
) -> AnyTask | None:
    """Return the task whose next trial promises to save most time; None when all have ended.

    A task has ended when nothing new is found, when `patience` candidates in a row brought nothing,
    or when the best candidate left is expected to save less than `regret` of its best time.
    """
    weighted = [(task, task.weight) for task in tasks]
    which = _core.next_task(weighted, NO_LIMIT if patience is None else patience, regret or 0.0)
    return None if which is None else tasks[which]
