# SPDX-License-Identifier: Apache-2.0
"""Spaces: the schedules among which a tuner searches."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._core import PrimFunc, Schedule, Trace
from ...build_options import Numerics
from ...errors import UserError
from .generated import GENERATED
from .holes import Decision, holes_of

SpaceFunction = Callable[[Schedule], Any]


class Space:
    """Schedules of one function.

    Parameters
    ----------
    func
        The program, as it is without a schedule.
    steps
        A function ``sch -> None`` that takes steps on a schedule of the program, some of which
        sample; None for no more than `start`.
    start
        Steps that come before, whose decisions are drawn anew.
    numerics
        The lock of results that steps have to keep, as in `tune`.

    Attributes
    ----------
    steps
        All of the steps, as the library takes them.
    """

    def __init__(
        self,
        func: PrimFunc,
        steps: SpaceFunction | None,
        start: Trace | None = None,
        *,
        numerics: Numerics = "free",
    ) -> None:
        self.func = func
        own = _own_steps(steps)
        if own is None or start is not None:
            own = _core.Space.after(start or Trace(), own)
        self.steps = own.locked(numerics)

    def draw(self, rng: random.Random, decisions: Sequence[Decision] = ()) -> Schedule:
        """Return a schedule whose first samples decide as told, as far as they may.

        A sample of another kind than its decision, or that may not decide so, is drawn; so are the
        others. What a space does next may depend on what was decided.

        Raises
        ------
        ScheduleError
            A step was refused.
        TypeMismatch
            The function returned something.
        """
        return self.made(rng.randrange(1, 2**31 - 1), decisions)

    def made(self, seed: int, decisions: Sequence[Decision] = ()) -> Schedule:
        """Return the schedule of a seed, as `draw` does with one that it draws."""
        return self.steps.drawn(self.func, seed, decisions)

    @property
    def name(self) -> str:
        """What tells this space from others: where its function is, the steps before it."""
        return self.steps.name

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


def _own_steps(steps: SpaceFunction | None) -> _core.Space | None:
    """Return steps as the library takes them: those of its own without Python's lock."""
    if steps is None or isinstance(steps, _core.Space):
        return steps
    for function, own in GENERATED:
        if steps is function:
            return own
    named: Any = steps if hasattr(steps, "__qualname__") else type(steps)
    return _core.Space(steps, f"{named.__module__}.{named.__qualname__}")
