# SPDX-License-Identifier: Apache-2.0
"""How `Module.time_evaluator` measures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

_GROWTH = 1.618


def measured(
    func: Callable[..., Any], args: Sequence[Any], number: int, repeat: int, min_repeat_ms: int
) -> list[float]:
    """Return the seconds that a call takes, a mean over `number` calls for each repetition.

    One call goes before, uncounted. Where a repetition ends before `min_repeat_ms`, it is taken
    again with more calls, at least 1.618 times as many.
    """
    func(*args)
    results = []
    for _ in range(repeat):
        while True:
            begin = time.perf_counter()
            for _ in range(number):
                func(*args)
            seconds = time.perf_counter() - begin
            if seconds * 1e3 >= min_repeat_ms:
                break
            wanted = min_repeat_ms / max(seconds * 1e3, 1e-6) * number
            number = int(max(wanted, number * _GROWTH) + 1)
        results.append(seconds / number)
    return results
