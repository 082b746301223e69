# SPDX-License-Identifier: Apache-2.0
"""The search for schedules of one function whose sizes vary."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..._core import Candidate, DrawnSizes, PrimFunc, Schedule, Trial
from ..measure.worker import Check, Outcome, Sweep
from ..search.search import Search
from ..task import RunsCandidates
from .sized import TunedSizes

FINALISTS = 8
"""So many schedules are measured again beside the default schedule, at most."""


@dataclass(frozen=True)
class Sized:
    """A candidate, and the time of a call for each of the drawn sizes."""

    candidate: Candidate
    seconds: tuple[float, ...]


class SizesTask:
    """One function, several sizes: a search for each size, which learn of each other's candidates.

    Each candidate is a schedule for all sizes, is compiled once, and is measured with each of the
    drawn sizes. What is chosen is a few schedules and a tree that decides between them: to those
    chosen already, each step adds the schedule that saves most of the weighted time.

    Parameters
    ----------
    func
        The program without a schedule.
    points
        The sizes that were drawn, with their weights.
    searches
        What proposes candidates, for each size.
    runner
        What measures them.
    max_variants
        How many schedules may be chosen, the default one included.
    """

    def __init__(
        self,
        func: PrimFunc,
        points: Sequence[DrawnSizes],
        searches: Sequence[Search],
        runner: RunsCandidates,
        max_variants: int,
        begun: float,
    ) -> None:
        self.func = func
        self.trials: list[Trial] = []
        self.times = _core.TrialTimes()
        self.weight = 1.0
        self.limit_seconds = 0.0  # It is another one for each size.
        self._points = list(points)
        self._searches = list(searches)
        self._runner = runner
        self._max_variants = max_variants
        self._begun = begun
        self._found: list[Sized] = []
        self._next = 0
        self._exhausted: set[int] = set()
        outcome = runner.run(Sweep(None, [math.inf] * len(self._points)))
        self.default_times = _times(outcome) or [math.inf] * len(self._points)

    @property
    def is_exhausted(self) -> bool:
        """Whether no search finds anything new."""
        return len(self._exhausted) == len(self._searches)

    @property
    def default_seconds(self) -> float:
        """The weighted mean time of the default schedule."""
        return self._mean(self.default_times)

    @property
    def best_seconds(self) -> float:
        """The weighted mean of the quickest times."""
        return self._mean(self._best_times())

    @property
    def result_seconds(self) -> float:
        """The same, of the default schedule where that is quicker."""
        return min(self.best_seconds, self.default_seconds)

    @property
    def expected_gain(self) -> float:
        """The share of a time that another candidate is expected to save, at the best size."""
        best = self._least_times()
        return max(each.expected_gain(time) for each, time in zip(self._searches, best))

    @property
    def refused(self) -> dict[str, int]:
        """How many draws were no legal schedule, by what was said."""
        counts: dict[str, int] = {}
        for search in self._searches:
            for what, count in search.refused.items():
                counts[what] = counts.get(what, 0) + count
        return counts

    def step(self, limit: int = 1, deadline: float = math.inf) -> int:
        """Measure one more candidate, of the search of the next size; return how many that were."""
        del limit, deadline
        which = self._next % len(self._searches)
        self._next += 1
        candidate = self._searches[which].propose()
        if candidate is None:
            self._exhausted.add(which)
            return 0
        best = self._least_times()
        outcome = self._runner.run(Sweep(candidate.scheduled, best))
        times = _times(outcome)
        for number, search in enumerate(self._searches):
            search.know(candidate)
            if times:
                search.learn(candidate, times[number])
        if times:
            self._found.append(Sized(candidate, tuple(times)))
        elapsed = time.monotonic() - self._begun
        mean = self._mean(times) if times else math.inf
        self.times.add(mean)
        self.trials.append(Trial(candidate.trace, mean, outcome.failure, outcome.detail, elapsed))
        return 1

    def finish(
        self, options: dict[str, Any], was_interrupted: bool, finalists: int = FINALISTS
    ) -> TunedSizes:
        """Choose variants, measure them again beside the default schedule, and fit the tree.

        Raises
        ------
        UserError
            There is no candidate that gave right results; or what was chosen is wrong.
        """
        said = [f"{trial.failure}: {trial.detail}" for trial in self.trials if trial.failure]
        said += [f"refused: {condition}" for condition in self.refused]
        first = said[0] if said else ""
        _core.require_candidate(bool(self._found), self.func.name, len(self.trials), first)
        chosen = self._chosen(self._max_variants if finalists else 1)
        times = [list(each.seconds) for each in chosen]
        defaults = self.default_times
        if finalists and not was_interrupted:
            chosen, times, defaults = self._measured_again(chosen)
        tree, rows = _core.decided(self._points, defaults, times, self._least_times())
        schedules = [self._replayed(each.candidate) for each in chosen]
        return self._checked(TunedSizes(
            self.func, schedules, tree, rows, self.trials, self.refused, was_interrupted, options
        ))  # fmt: skip

    def _checked(self, found: TunedSizes) -> TunedSizes:
        if found.is_default:
            return found
        outcome = self._runner.run(Check(found.function()))
        if outcome.failure:
            _core.fail(
                "UserError",
                "variants_are_right",
                f"tune: {self.func.name}: the function of {len(found.schedules)} variants: "
                f"{outcome.failure}: {outcome.detail}",
                hint="compare ls.build(x) and ls.build(x, default_schedule=False)",
            )
        return found

    def _measured_again(
        self, chosen: list[Sized]
    ) -> tuple[list[Sized], list[list[float]], list[float]]:
        """Return those that still run, their times, and the default schedule's beside them."""
        kept, times, defaults = [], [], []
        for each in chosen:
            outcome = self._runner.run(
                Sweep(each.candidate.scheduled, [math.inf] * len(self._points), repeat=10)
            )
            if outcome.failure is None and outcome.sizes:
                kept.append(each)
                # As ratios: what the machine did meanwhile met both.
                times.append([_median(size) / _default_median(size) for size in outcome.sizes])
                defaults.append([_default_median(size) for size in outcome.sizes])
        if not kept:
            return [], [], self.default_times
        common = [statistics.median(column) for column in zip(*defaults)]
        return kept, [[r * own for r, own in zip(row, common)] for row in times], common

    def _chosen(self, count: int) -> list[Sized]:
        """Return schedules that together save most, beside the default one."""
        found = [list(each.seconds) for each in self._found]
        chosen = _core.chosen_variants(self._points, self.default_times, found, count)
        return [self._found[which] for which in chosen]

    def _least_times(self) -> list[float]:
        """Return the quickest times, those of the default schedule among them."""
        return [min(pair) for pair in zip(self._best_times(), self.default_times)]

    def _best_times(self) -> list[float]:
        columns = list(zip(*(each.seconds for each in self._found)))
        return [min(column) for column in columns] or [math.inf] * len(self._points)

    def _mean(self, times: Sequence[float]) -> float:
        return sum(point.weight * each for point, each in zip(self._points, times))

    def _replayed(self, candidate: Candidate) -> Schedule:
        sch = Schedule(self.func)
        candidate.trace.apply_to_schedule(sch)
        return sch


def _times(outcome: Outcome) -> list[float]:
    """Return the time of a call for each size; empty where it failed."""
    if outcome.failure is not None:
        return []
    return [_median(size) for size in outcome.sizes]


def _median(outcome: Outcome) -> float:
    return statistics.median(outcome.samples) if outcome.samples else math.inf


def _default_median(outcome: Outcome) -> float:
    return statistics.median(outcome.default_samples)
