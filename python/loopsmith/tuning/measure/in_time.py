# SPDX-License-Identifier: Apache-2.0
"""Work in threads, with a limit of time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Made = TypeVar("Made")


def ended_in_time(
    tasks: Sequence[Callable[[], Made]], threads: int, seconds: float
) -> list[Made | None]:
    """Return what each of some tasks made; None for those that took longer.

    They are left behind: their threads go on, and the process ends without them.

    Parameters
    ----------
    tasks
        What is done; none raises an error.
    threads
        How many are done at once.
    seconds
        How long each may take.
    """
    made: list[Made | None] = [None] * len(tasks)

    def work(number: int, deadline: float) -> None:
        result = tasks[number]()
        if time.monotonic() <= deadline:  # Also where it ended before it was asked for.
            made[number] = result

    found: list[Made | None] = []
    for begin in range(0, len(tasks), threads):
        end = min(begin + threads, len(tasks))
        deadline = time.monotonic() + seconds
        group = [
            threading.Thread(target=work, args=(number, deadline), daemon=True)
            for number in range(begin, end)
        ]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join(max(deadline - time.monotonic(), 0.0))
        found += made[begin:end]
    return found
