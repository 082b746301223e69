# SPDX-License-Identifier: Apache-2.0
"""Which schedules of a space are tried, and in which order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .._core import PrimFunc, Schedule, Trace
from ..driver import scheduled_program
from ..errors import LowerError, ScheduleError
from ..ir import structural_hash
from .holes import crossed, mutated
from .model import Model
from .space import Space


@dataclass(frozen=True)
class Candidate:
    """A schedule that has not been tried yet."""

    schedule: Schedule
    trace: Trace

    @cached_property
    def key(self) -> str:
        """What is the same for two candidates that are one program."""
        return structural_hash(self.schedule.func)

    @cached_property
    def scheduled(self) -> PrimFunc:
        """The function as it is scheduled."""
        made = scheduled_program(self.schedule, keeps_trace=False)
        assert isinstance(made, PrimFunc)
        return made.with_attr("tir.is_scheduled", 1)


class EvolutionarySearch:
    """Proposes what a model takes for quick; what it breeds from are the quickest so far.

    Candidates come in batches. For each, a pool is drawn of the space, bred of the quickest that
    were measured, and for some generations of those of the pool that the model likes best: by a
    change of one decision, or a cross of two. The best of the pool are proposed, and one at random.
    A program that was proposed is not proposed again.

    Parameters
    ----------
    space
        What is searched.
    seed
        Of all that is drawn.
    model
        What ranks a pool; without, its order is that in which it was made.

    Attributes
    ----------
    refused
        How many draws were no legal schedule, by what was said.
    """

    pool_size = 64
    generations = 3
    batch_size = 8
    elite = 12  # How many of the quickest have descendants.
    max_attempts = 200  # In a row, without a new program: there are no more, or hardly any.

    def __init__(self, space: Space, seed: int, model: Model | None = None) -> None:
        self.space = space
        self.refused: Counter[str] = Counter()
        self._model = model
        self._rng = random.Random(seed)
        self._known: set[str] = set()
        self._batch: list[Candidate] = []
        self._measured: list[tuple[float, int, Trace]] = []

    def propose(self) -> Candidate | None:
        """Return a candidate; None where nothing new is found any more."""
        if not self._batch:
            self._batch = self._next_batch()
        return self._batch.pop(0) if self._batch else None

    def learn(self, candidate: Candidate, seconds: float) -> None:
        """Take note of what a candidate was measured to take."""
        self._measured.append((seconds, len(self._measured), candidate.trace))
        self._measured.sort(key=lambda item: item[:2])

    def _next_batch(self) -> list[Candidate]:
        parents = [trace for _, _, trace in self._measured[: self.elite]]
        pool: list[tuple[float, int, Candidate]] = []
        for generation in range(self.generations if self._model else 1):
            self._breed(pool, parents, (generation + 1) * self.pool_size)
            pool.sort(key=lambda item: item[:2])
            parents = [candidate.trace for _, _, candidate in pool[: self.elite]] + parents
        ranked = [candidate for _, _, candidate in pool]
        chosen = ranked[: self.batch_size]
        rest = ranked[self.batch_size :]
        if rest:
            chosen[-1] = self._rng.choice(rest)
        # What was not chosen may come again.
        self._known.difference_update(each.key for each in ranked)
        self._known.update(each.key for each in chosen)
        return chosen

    def _breed(
        self, pool: list[tuple[float, int, Candidate]], parents: Sequence[Trace], size: int
    ) -> None:
        """Add candidates to a pool until it has a size, or nothing new is found."""
        attempts = 0
        while len(pool) < size and attempts < self.max_attempts:
            attempts += 1
            try:
                sch = self._next_schedule(parents)
                candidate = Candidate(sch, sch.trace)
                if candidate.key in self._known:
                    continue
                predicted = self._model.predict(candidate.scheduled) if self._model else 0.0
            except (ScheduleError, LowerError) as error:
                self.refused[str(error).partition("\n")[0]] += 1
                continue
            self._known.add(candidate.key)
            pool.append((predicted, len(pool), candidate))
            attempts = 0

    def _next_schedule(self, parents: Sequence[Trace]) -> Schedule:
        if not parents or self._rng.random() < 0.25:
            return self.space.draw(self._rng)
        # The first is likelier than those after it.
        parent = self._chosen(parents)
        if self._rng.random() < 0.8:
            child = mutated(parent, self._rng)
        else:
            child = crossed(parent, self._chosen(parents), self._rng)
        return self.space.draw(self._rng, child or ())

    def _chosen(self, parents: Sequence[Trace]) -> Trace:
        weights = [len(parents) - rank for rank in range(len(parents))]
        return self._rng.choices(parents, weights)[0]
