# SPDX-License-Identifier: Apache-2.0
"""The generated space and the default schedule with its numbers left open, as one space."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import PrimFunc, Schedule, Target, Trace
from ..driver import default_schedule
from ..errors import ScheduleError
from .generated import generated, generated_for_gpu
from .holes import Decision, decisions_of, holes_of


def generated_space(target: Target | str) -> Callable[[Schedule], None]:
    """Return the generated space for a target."""
    made = Target(target) if isinstance(target, str) else target
    return generated_for_gpu if made.kind in ("cuda", "opencl") else generated


class WithDefault:
    """The space of a program that has no steps: a function of a schedule, as all spaces are.

    Its first sample chooses between the default schedule, whose numbers are then samples, and
    `generated`, on a GPU `generated_for_gpu`. A default schedule that leaves nothing to decide is
    one point, which is drawn seldom.

    Parameters
    ----------
    func
        The program.
    target, num_threads
        What the default schedule is for.
    """

    def __init__(self, func: PrimFunc, target: Target | str, num_threads: int | None) -> None:
        self._generated = generated_space(target)
        self._default: Trace | None = None
        try:
            default = default_schedule(func, target, holes=True, num_threads=num_threads)
        except ScheduleError:
            return
        self._default = default.trace
        share = 0.5 if holes_of(default.trace) else 1 / 16
        self._shares = [share, 1 - share]

    @property
    def name(self) -> str:
        """What tells this space from others."""
        own = self._generated
        if self._default is None:
            return f"{own.__module__}.{own.__qualname__}"
        return f"{own.__qualname__}, or {self._default.as_python()}"

    @property
    def starts(self) -> list[Sequence[Decision]]:
        """What to decide first: the default schedule as it is."""
        if self._default is None:
            return []
        return [[("sample_categorical", 0), *decisions_of(self._default)]]

    def __call__(self, sch: Schedule) -> None:
        """Take the steps."""
        if self._default is None or sch.get(sch.sample_categorical([0, 1], self._shares)) == 1:
            self._generated(sch)
        else:
            self._default.sample_again(sch)
