# SPDX-License-Identifier: Apache-2.0
"""Spaces: the schedules among which a tuner searches."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import PrimFunc, Schedule, Trace
from ..errors import UserError

SpaceFunction = Callable[[Schedule], Any]


class Space:
    """Schedules of one function: a function that takes steps, some of which sample, or a trace.

    Parameters
    ----------
    func
        The program, as it is without a schedule.
    steps
        A function ``sch -> None`` that takes steps on a schedule of the program; or a trace of
        them, whose decisions are drawn anew.
    """

    def __init__(self, func: PrimFunc, steps: SpaceFunction | Trace) -> None:
        self.func = func
        self._steps = steps

    def draw(self, rng: random.Random) -> Schedule:
        """Return a schedule with all decisions drawn.

        Raises
        ------
        UserError
            A step was refused.
        """
        sch = Schedule(self.func, seed=rng.randrange(1, 2**31 - 1))
        if isinstance(self._steps, Trace):
            self._steps.apply_to_schedule(sch, decision_provider=_any_decision)
            return sch
        made = self._steps(sch)
        if made is not None:
            _core.fail(
                "TypeMismatch",
                "space_returns_none",
                f"tune: the space returned {type(made).__name__}, expected None",
                hint="take the steps on the schedule that is given; return nothing",
            )
        return sch

    def replayed(self, trace: Trace) -> Schedule:
        """Return a schedule with the steps and decisions of a trace.

        Raises
        ------
        UserError
            A step was refused.
        """
        sch = Schedule(self.func, seed=1)
        trace.apply_to_schedule(sch)
        return sch


def _any_decision(*_: Any) -> Any:
    return None


def refusal_of(error: UserError) -> str:
    """Return why a candidate was refused, short enough to count the like."""
    return getattr(error, "condition", None) or type(error).__name__
