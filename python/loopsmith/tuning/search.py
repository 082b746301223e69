# SPDX-License-Identifier: Apache-2.0
"""Which schedules of a space are tried, and in which order."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from .._core import PrimFunc, Schedule, Trace
from ..driver import scheduled_program
from ..errors import ScheduleError
from ..ir import structural_hash
from .holes import crossed, mutated
from .space import Space


@dataclass(frozen=True)
class Candidate:
    """A schedule that has not been tried yet."""

    schedule: Schedule
    trace: Trace

    @property
    def scheduled(self) -> PrimFunc:
        """The function as it is scheduled."""
        made = scheduled_program(self.schedule, keeps_trace=False)
        assert isinstance(made, PrimFunc)
        return made.with_attr("tir.is_scheduled", 1)


class EvolutionarySearch:
    """Draws schedules; later on, it mutates and crosses the quickest.

    The first `initial` candidates are drawn. Then one in five is; the others come of one of the
    quickest so far, by a change of one decision (four in five) or a cross with another of them. A
    program that was proposed is not proposed again.

    Parameters
    ----------
    space
        What is searched.
    seed
        Of all that is drawn.
    initial
        How many candidates are drawn before any is made of others.
    elite
        How many of the quickest have descendants.

    Attributes
    ----------
    refused
        How many draws were no legal schedule, by what was said.
    """

    max_attempts = 200  # In a row, without a new program: there are no more, or hardly any.

    def __init__(self, space: Space, seed: int, initial: int = 24, elite: int = 12) -> None:
        self.space = space
        self.refused: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._initial = initial
        self._elite = elite
        self._proposed: set[str] = set()
        self._measured: list[tuple[float, int, Trace]] = []

    def propose(self) -> Candidate | None:
        """Return a candidate; None where nothing new was found in `max_attempts` draws."""
        for _ in range(self.max_attempts):
            try:
                sch = self._next_schedule()
            except ScheduleError as error:
                self.refused[str(error).partition("\n")[0]] += 1
                continue
            key = structural_hash(sch.func)
            if key not in self._proposed:
                self._proposed.add(key)
                return Candidate(sch, sch.trace)
        return None

    def learn(self, candidate: Candidate, seconds: float) -> None:
        """Take note of what a candidate was measured to take."""
        self._measured.append((seconds, len(self._measured), candidate.trace))
        self._measured.sort()

    def _next_schedule(self) -> Schedule:
        if len(self._measured) < 2 or len(self._proposed) < self._initial:
            return self.space.draw(self._rng)
        if self._rng.random() < 0.2:
            return self.space.draw(self._rng)
        parent = self._parent()
        if self._rng.random() < 0.8:
            child = mutated(parent, self._rng)
        else:
            child = crossed(parent, self._parent(), self._rng)
        return self.space.draw(self._rng, child or ())

    def _parent(self) -> Trace:
        elite = self._measured[: self._elite]
        # The first is twice as likely as the one in the middle.
        weights = [len(elite) - rank for rank in range(len(elite))]
        return self._rng.choices(elite, weights)[0][2]
