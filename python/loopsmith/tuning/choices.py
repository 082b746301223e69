# SPDX-License-Identifier: Apache-2.0
"""What generated spaces are made of: samples, and steps that may be refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._core import LoopRV, Schedule, pre_order_visit
from ..errors import ScheduleError

Result = TypeVar("Result")

LANES = (8, 16, 32, 64, 128)


def attempt(step: Callable[[], Result]) -> Result | None:
    """Take a step; None where it is refused."""
    try:
        return step()
    except ScheduleError:
        return None


def choose(sch: Schedule, candidates: Sequence[int]) -> int:
    """Sample one of some numbers, each with the same chance."""
    weights = [1.0 / len(candidates)] * len(candidates)
    return int(sch.get(sch.sample_categorical(list(candidates), weights)))


def choose_factor(sch: Schedule, candidates: Sequence[int], extent: int | None) -> int:
    """Sample one of some rising factors of a split.

    Those that leave the same one part as a smaller one are no choices; `extent` None is not known.
    """
    if extent is not None:
        smaller = [each for each in candidates if each < extent]
        candidates = candidates[: len(smaller) + 1]
    return choose(sch, candidates)


def parts_of(extent: int | None, factor: int) -> int | None:
    """Return how many parts a split makes of a loop; None where that is not constant."""
    return None if extent is None else -(-extent // factor)


def constant_extent(sch: Schedule, loop: LoopRV) -> int | None:
    """Return how many iterations a loop has; None where that is not constant."""
    try:
        return int(sch.get(loop).extent)
    except TypeError:
        return None


def uses(value: Any, variable: Any) -> bool:
    """Whether an expression uses a variable."""
    found: list[Any] = []

    def visit(node: Any) -> bool:
        if node.same_as(variable):
            found.append(node)
        return not found

    pre_order_visit(value, visit)
    return bool(found)
