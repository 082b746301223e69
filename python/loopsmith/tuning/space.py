# SPDX-License-Identifier: Apache-2.0
"""Spaces: the schedules among which a tuner searches."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import PrimFunc, Schedule, Trace
from ..errors import UserError
from .generated import generated, generated_for_gpu
from .holes import Decision, holes_of
from .with_default import WithDefault

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
    allow_reassociation
        False refuses steps that combine floats in another order, as in `Schedule`.
    order
        Steps without samples, before all others, that may do so all the same: they fix the order
        of reductions.
    """

    def __init__(
        self,
        func: PrimFunc,
        steps: SpaceFunction | None,
        start: Trace | None = None,
        *,
        allow_reassociation: bool = True,
        order: SpaceFunction | None = None,
    ) -> None:
        self.func = func
        self._order = order
        self._steps = steps
        self._start = start
        self._allow_reassociation = allow_reassociation

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
        seed = rng.randrange(1, 2**31 - 1)
        return self.made(seed, decisions)

    def made(self, seed: int, decisions: Sequence[Decision] = ()) -> Schedule:
        """Return the schedule of a seed, as `draw` does with one that it draws."""
        sch = Schedule(self.func, seed=seed)
        sch.decide_samples(decisions)
        if self._order is not None:
            self._order(sch)
        sch.allow_reassociation = self._allow_reassociation
        if self._start is not None:
            self._start.sample_again(sch)
        made = self._steps(sch) if self._steps is not None else None
        if made is not None:
            _core.fail(
                "TypeMismatch",
                "space_returns_none",
                f"tune: the space returned {type(made).__name__}, expected None",
                hint="take the steps on the schedule that is given; return nothing",
            )
        return sch

    @property
    def is_concurrent(self) -> bool:
        """Whether threads may draw concurrently: a function of the user's may not expect that."""
        own = (None, generated, generated_for_gpu)
        return self._steps in own or isinstance(self._steps, WithDefault)

    @property
    def starts(self) -> list[Sequence[Decision]]:
        """The decisions of candidates that are tried before others are drawn."""
        return self._steps.starts if isinstance(self._steps, WithDefault) else []

    @property
    def name(self) -> str:
        """What tells this space from others: where its function is, the steps before it."""
        steps: Any = self._steps
        if steps is None:
            own = ""
        elif isinstance(steps, WithDefault):
            own = steps.name
        else:
            own = f"{steps.__module__}.{steps.__qualname__}"
        lock = "" if self._allow_reassociation else "reproducible " if self._order else "strict "
        return f"{lock}{own} {self._start.as_python() if self._start else ''}"

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
