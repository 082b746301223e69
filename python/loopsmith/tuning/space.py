# SPDX-License-Identifier: Apache-2.0
"""Spaces: the schedules among which a tuner searches."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import PrimFunc, Schedule, Trace
from ..errors import UserError
from .holes import holes_of

SpaceFunction = Callable[[Schedule], Any]


class Space:
    """Schedules of one function: a function that takes steps, some of which sample, or a trace.

    Parameters
    ----------
    func
        The program, as it is without a schedule.
    steps
        A function ``sch -> None`` that takes steps on a schedule of the program; None for no more
        than `start`.
    start
        Steps that come before, whose decisions are drawn anew.
    """

    def __init__(
        self, func: PrimFunc, steps: SpaceFunction | None, start: Trace | None = None
    ) -> None:
        self.func = func
        self._steps = steps
        self._start = start

    def draw(self, rng: random.Random) -> Schedule:
        """Return a schedule with all decisions drawn.

        Raises
        ------
        UserError
            A step was refused.
        """
        sch = Schedule(self.func, seed=rng.randrange(1, 2**31 - 1))
        if self._start is not None:
            self._start.apply_to_schedule(sch, decision_provider=_any_decision)
        made = self._steps(sch) if self._steps is not None else None
        if made is not None:
            _core.fail(
                "TypeMismatch",
                "space_returns_none",
                f"tune: the space returned {type(made).__name__}, expected None",
                hint="take the steps on the schedule that is given; return nothing",
            )
        return sch

    def __str__(self) -> str:
        """Return the choices of a schedule that was drawn, and how many schedules they make."""
        try:
            holes = holes_of(self.draw(random.Random(0)).trace)
        except UserError as error:
            return f"a space whose first draw is refused: {error}"
        if not holes:
            return "one point: the schedule has no samples"
        points, rows = 1, []
        for hole in holes:
            points *= hole.choices or 1
            rows.append(f"  {hole.choices or 'some'} choices: {hole.line}")
        return "\n".join([f"{points:.4g} points with the structure of this draw:", *rows])

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
