# SPDX-License-Identifier: Apache-2.0
"""The search for a schedule of one function."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any, Protocol

from .. import _core
from .._core import PrimFunc, Schedule
from ..ir import structural_equal
from .result import Trial, Tuned
from .search import Candidate, EvolutionarySearch
from .worker import Attempt, Duel, Outcome

FINALISTS = 3


class RunsCandidates(Protocol):
    """Whatever measures candidates."""

    def run(self, request: Attempt | Duel) -> Outcome:
        """Measure one candidate, or one beside the default schedule."""


class Task:
    """One function: its search, and what has been measured.

    Parameters
    ----------
    func
        The program without a schedule.
    search
        What proposes candidates.
    runner
        What measures them.
    weight
        How often the function is called, beside others.
    begun
        When the search began, as `time.monotonic` tells it.
    """

    def __init__(
        self,
        func: PrimFunc,
        search: EvolutionarySearch,
        runner: RunsCandidates,
        weight: float = 1.0,
        begun: float | None = None,
    ) -> None:
        self.func = func
        self.weight = weight
        self.trials: list[Trial] = []
        self.is_exhausted = False
        self._search = search
        self._runner = runner
        self._begun = time.monotonic() if begun is None else begun
        self._candidates: list[tuple[float, int, Candidate]] = []
        self.default_seconds = self._measure_default()

    @property
    def best_seconds(self) -> float:
        """The time of the quickest candidate; infinity before there is one."""
        return min((seconds for seconds, _, _ in self._candidates), default=math.inf)

    @property
    def result_seconds(self) -> float:
        """The time of the quickest candidate, or of the default schedule where that is quicker."""
        return min(self.best_seconds, self.default_seconds)

    @property
    def refused(self) -> dict[str, int]:
        """How many draws were no legal schedule, by what was said."""
        return dict(self._search.refused)

    def step(self) -> None:
        """Measure one more candidate; when there is none, the task is exhausted."""
        candidate = self._search.propose()
        if candidate is None:
            self.is_exhausted = True
            return
        outcome = self._runner.run(Attempt(candidate.scheduled, self.result_seconds))
        seconds, failure, detail = _time_of(outcome)
        if failure is None:
            self._search.learn(candidate, seconds)
            self._candidates.append((seconds, len(self.trials), candidate))
        elapsed = time.monotonic() - self._begun
        self.trials.append(Trial(candidate.trace, seconds, failure, detail, elapsed))

    def finish(
        self, options: dict[str, Any], was_interrupted: bool, finalists: int = FINALISTS
    ) -> Tuned:
        """Measure the quickest beside the default schedule, and return the quickest of them.

        Parameters
        ----------
        options
            How the winner is to be built: keywords of `build`.
        was_interrupted
            Whether the search was ended from outside.
        finalists
            How many are measured again; with 0, the quickest so far is returned as it is.

        Raises
        ------
        UserError
            There is no candidate that gave right results.
        """
        if not self._candidates:
            self._fail()
        ranked = sorted(self._candidates, key=lambda item: item[:2])
        chosen, outcome = ranked[0][2], Outcome()
        for _, _, candidate in ranked[:finalists]:
            duel = self._runner.run(Duel(candidate.scheduled))
            if duel.failure is None and _speedup(duel) > _speedup(outcome):
                chosen, outcome = candidate, duel
        return Tuned(
            func=self.func,
            schedule=self._replayed(chosen),
            trials=self.trials,
            refused=self.refused,
            seconds=statistics.median(outcome.samples or [self.best_seconds]),
            default_seconds=statistics.median(outcome.default_samples or [self.default_seconds]),
            duel=outcome,
            was_interrupted=was_interrupted,
            is_exhausted=self.is_exhausted,
            options=options,
        )

    def _replayed(self, candidate: Candidate) -> Schedule:
        """Return the schedule that a record of the candidate gives."""
        sch = Schedule(self.func)
        candidate.trace.apply_to_schedule(sch)
        if not structural_equal(sch.func, candidate.schedule.func):
            _core.fail(
                "InternalError",
                "trace_gives_the_schedule",
                f"tune: {self.func.name}: the trace of the winner gives another program",
                hint="report this, with the trace",
            )
        return sch

    def _measure_default(self) -> float:
        seconds, failure, _ = _time_of(self._runner.run(Attempt(None, math.inf)))
        return math.inf if failure else seconds

    def _fail(self) -> None:
        said = [f"{trial.failure}: {trial.detail}" for trial in self.trials if trial.failure]
        said += [f"refused: {condition}" for condition in self.refused]
        _core.fail(
            "UserError",
            "a_candidate_works",
            f"tune: {self.func.name}: none of {len(self.trials)} candidates could be built and "
            f"measured; {said[0] if said else 'there was no time for one'}",
            hint="give more trials or seconds, or another space",
        )


def _time_of(outcome: Outcome) -> tuple[float, str | None, str]:
    """Return the time of a call, and why there is none."""
    if outcome.failure is not None:
        return math.inf, outcome.failure, outcome.detail
    seconds: Any = statistics.median(outcome.samples) if outcome.samples else math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        return math.inf, "no time", f"the runner returned {seconds} s, expected a positive number"
    return float(seconds), None, ""


def _speedup(duel: Outcome) -> float:
    pairs = zip(duel.default_samples, duel.samples)
    return statistics.median([default / own for default, own in pairs] or [0.0])
