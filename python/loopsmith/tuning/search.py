# SPDX-License-Identifier: Apache-2.0
"""Which schedules of a space are tried, and in which order."""

from __future__ import annotations

import os
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

from .._core import ExpectedGain, PrimFunc, Schedule, Trace
from ..compiled_program import scheduled_program
from ..errors import BoundsError, LowerError, ScheduleError, UserError
from ..ir import structural_hash
from .holes import Decision, crossed, mutated
from .model import Learner, Model
from .space import Space

NO_SCHEDULE = (ScheduleError, LowerError, BoundsError)
"""What is raised where samples make no legal schedule, or tiles whose size is no number."""


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


Mutator = Callable[[Trace, random.Random], Union[Sequence[Decision], None]]
"""Gets a trace, and what to draw with; returns other decisions of its samples."""
Plan = tuple[int, Sequence[Decision]]
"""The seed of a candidate, and what its first samples decide."""
Ranked = tuple[float, int, Candidate]
"""What a model predicts, the place in the pool, and the candidate."""


class Search(ABC):
    """Proposes schedules of a space, in batches; a subclass says which come next.

    The first batch is that with which the space starts. A program that was proposed is not proposed
    again. The same with any number of threads.

    Parameters
    ----------
    space
        What is searched.
    seed
        Of all that is drawn.
    model
        What ranks candidates; without, their order is that in which they were drawn.
    mutator
        What changes decisions of a trace; None of it means that there is nothing to change.

    Attributes
    ----------
    refused
        How many draws were no legal schedule, by what was said.
    started
        The candidates with which the space starts, once one was asked for.
    left
        Candidates that the model likes, and that were not proposed yet.
    rng
        What to draw with.
    """

    pool_size = 40
    batch_size = 10
    elite = 12  # How many of the quickest have descendants.
    chunk_size = 16  # So many candidates are drawn at once, by several threads.
    worth_a_try = 30.0  # Times what the best is predicted to take; any one takes no longer.
    threads = len(os.sched_getaffinity(0))
    max_attempts = 200  # In a row, without a new program: there are no more, or hardly any.
    draws_of_one = 8  # A pool that fills a batch is not made larger where more draws find one.

    def __init__(
        self, space: Space, seed: int, model: Model | None = None, mutator: Mutator = mutated
    ) -> None:
        self.space = space
        self._mutator = mutator
        self.refused: Counter[str] = Counter()
        self._model = model
        self.rng = random.Random(seed)
        self._known: set[str] = set()
        self._batch: list[Candidate] = []
        self._starts: list[Sequence[Decision]] = list(space.starts)
        self.started: list[Candidate] = []
        self.left: list[Ranked] = []
        self._measured: list[tuple[float, int, Trace]] = []
        self._expected = ExpectedGain()

    def propose(self) -> Candidate | None:
        """Return a candidate; None where nothing new is found any more."""
        if not self._batch:
            self._batch = self._next_batch()
        return self._batch.pop(0) if self._batch else None

    def learn(self, candidate: Candidate, seconds: float) -> None:
        """Take note of what a candidate was measured to take."""
        self.teach(candidate, seconds)
        self._expected.measure(candidate.key, seconds)
        self._measured.append((seconds, len(self._measured), candidate.trace))
        self._measured.sort(key=lambda item: item[:2])

    def expected_gain(self, best: float) -> float:
        """Return what the best one left is expected to save, as a share of the best time so far.

        Infinity as long as predictions could not be compared with measurements.
        """
        return self._expected.share_of(best)

    @property
    def is_learning(self) -> bool:
        """Whether the model learns."""
        return isinstance(self._model, Learner)

    def teach(self, candidate: Candidate, seconds: float) -> None:
        """Tell a model that learns what a candidate was measured to take."""
        if isinstance(self._model, Learner):
            self._model.learn(candidate.scheduled, seconds)

    def know(self, candidate: Candidate) -> None:
        """Leave out a candidate that another search proposed."""
        self._known.add(candidate.key)
        self._batch = [each for each in self._batch if each.key != candidate.key]
        self.left = [ranked for ranked in self.left if ranked[2].key != candidate.key]

    def remember(self, program: str, trace: Trace, seconds: float | None) -> None:
        """Take note of a candidate of an earlier search, by the hash of its program."""
        self._known.add(program)
        if seconds is not None:
            self._measured.append((seconds, len(self._measured), trace))
            self._measured.sort(key=lambda item: item[:2])

    def _next_batch(self) -> list[Candidate]:
        if self._starts:
            starts, self._starts = self._starts, []
            drawn = self._drawn([(self.seed(), decisions) for decisions in starts])
            self.started = [each for each in drawn if isinstance(each, Candidate)]
            fresh = self._fresh(drawn)
            if fresh:
                return fresh
        return self.next_candidates()

    @abstractmethod
    def next_candidates(self) -> list[Candidate]:
        """Return candidates to measure next; none where nothing new is found any more."""

    @property
    def quickest(self) -> list[Trace]:
        """The traces of the quickest that were measured."""
        return [trace for _, _, trace in self._measured[: self.elite]]

    def chosen(self, pool: Sequence[Ranked], near: Sequence[Ranked]) -> list[Candidate]:
        """Return a batch: some of `near`, which comes of what was measured, the best, and any one.

        What is not chosen may be drawn again, but for the best of it, which is `left` for the next
        pool, unless a model that learns will say something else of it by then.
        """
        found = [candidate for _, _, candidate in near[: self.batch_size // 3]]
        found += [candidate for _, _, candidate in pool if candidate not in found]
        predicted = {id(candidate): seconds for seconds, _, candidate in pool}
        longest = self.worth_a_try * min(predicted.values(), default=0.0)
        rest = [each for each in found[self.batch_size - 1 :] if predicted[id(each)] <= longest]
        found = found[: self.batch_size - 1]
        if rest:
            found.append(self.rng.choice(rest))
        self._known.difference_update(candidate.key for _, _, candidate in pool)
        if self._model and not self.is_learning:
            chosen = {id(candidate) for candidate in found}
            self.left = [each for each in pool if id(each[2]) not in chosen][: self.pool_size]
        self._known.update(each.key for each in [*found, *(each for _, _, each in self.left)])
        self.expect(pool)
        return found

    def expect(self, pool: Sequence[Ranked]) -> None:
        """Take note of what the model predicts of a pool, for `expected_gain`."""
        if self._model:
            self._expected.predict({each.key: predicted for predicted, _, each in pool})

    @property
    def has_model(self) -> bool:
        """Whether something predicts times."""
        return self._model is not None

    def bred(self, parents: Sequence[Trace], pool: Sequence[Ranked], size: int) -> list[Ranked]:
        """Return a pool with more candidates, up to a size if so many are found, ranked.

        Some are descendants of the parents, some are drawn of the whole space.
        """
        found = list(pool)
        attempts = drawn = 0
        while len(found) < size and attempts < self.max_attempts:
            new = max(len(found) - len(pool), self.batch_size // 2)
            if len(found) > self.batch_size and drawn > self.draws_of_one * new:
                break
            plans = [self._plan(parents) for _ in range(self.chunk_size)]
            for ranked in self.ranked(plans, len(found)):
                if ranked is None:
                    continue
                if len(found) < size:
                    found.append(ranked)
                    attempts = 0
                else:
                    self._known.discard(ranked[2].key)  # There was no place for it.
            attempts += len(plans)
            drawn += len(plans)
        return sorted(found, key=lambda item: item[:2])

    def ranked(self, plans: Sequence[Plan], place: int = 0) -> list[Ranked | None]:
        """Carry out plans, and predict; None for what is no legal schedule, or is known.

        They take places from `place` on, which order those that are predicted alike.
        """
        drawn = self._drawn(plans)
        fresh = self._fresh(drawn)
        predictions = dict(zip(map(id, fresh), self._predicted(fresh)))
        found: list[Ranked | None] = []
        for candidate in drawn:
            predicted = predictions.get(id(candidate))
            if isinstance(predicted, UserError):
                self._refuse(predicted)
            # Nothing is predicted of what is known.
            if isinstance(candidate, UserError) or isinstance(predicted, (UserError, type(None))):
                found.append(None)
            else:
                found.append((predicted, place, candidate))
                place += 1
        return found

    def _plan(self, parents: Sequence[Trace]) -> Plan:
        """Return the seed of a candidate, and what its first samples decide."""
        decisions: Sequence[Decision] = ()
        if parents and self.rng.random() >= 0.25:
            # The first is likelier than those after it.
            parent = self._parent(parents)
            if self.rng.random() < 0.8:
                decisions = self.mutated(parent)
            else:
                decisions = crossed(parent, self._parent(parents), self.rng)
        return self.seed(), decisions

    def mutated(self, trace: Trace) -> Sequence[Decision]:
        """Return the decisions of a trace, one of them changed; none where there is nothing."""
        return self._mutator(trace, self.rng) or ()

    def seed(self) -> int:
        """Return the seed of a candidate."""
        return self.rng.randrange(1, 2**31 - 1)

    def _drawn(self, plans: Sequence[Plan]) -> list[Candidate | UserError]:
        """Carry out plans; an error in the place of those that are no legal schedule."""

        def made(plan: Plan) -> Candidate | UserError:
            try:
                sch = self.space.made(*plan)
                candidate = Candidate(sch, sch.trace)
                _ = candidate.key  # Computed here, by this thread; the candidate keeps it.
            except NO_SCHEDULE as error:
                return error
            return candidate

        return self._each(made, plans, self.space.is_concurrent)

    def _fresh(self, drawn: Sequence[Candidate | UserError]) -> list[Candidate]:
        """Return the candidates that are not known yet, and take note of them."""
        fresh = []
        for candidate in drawn:
            if isinstance(candidate, UserError):
                self._refuse(candidate)
            elif candidate.key not in self._known:
                self._known.add(candidate.key)
                fresh.append(candidate)
        return fresh

    def _predicted(self, candidates: Sequence[Candidate]) -> list[float | UserError]:
        """Return what the model says of candidates; an error where one cannot be lowered."""
        model = self._model
        if model is None:
            return [0.0] * len(candidates)

        def predicted(candidate: Candidate) -> float | UserError:
            try:
                return model.predict(candidate.scheduled)
            except NO_SCHEDULE as error:
                return error

        return self._each(predicted, candidates, getattr(model, "is_concurrent", False))

    def _each(
        self, task: Callable[[Any], Any], items: Sequence[Any], is_concurrent: bool
    ) -> list[Any]:
        """Return what a task makes of each item, in their order, however many threads there are."""
        found: list[Any] = [None] * len(items)
        places = iter(range(len(items)))  # Each thread takes the next one.

        def work() -> None:
            for place in places:
                found[place] = task(items[place])

        others = self.threads - 1 if is_concurrent else 0
        helping = [self._helpers.submit(work) for _ in range(others)]
        work()
        for each in helping:
            each.result()
        return found

    @cached_property
    def _helpers(self) -> ThreadPoolExecutor:
        """The threads that draw beside the one that asks; they stay, as chunks are short."""
        return ThreadPoolExecutor(self.threads - 1)

    def _refuse(self, error: UserError) -> None:
        self.refused[str(error).partition("\n")[0]] += 1

    def _parent(self, parents: Sequence[Trace]) -> Trace:
        weights = [len(parents) - rank for rank in range(len(parents))]
        return self.rng.choices(parents, weights)[0]
