# SPDX-License-Identifier: Apache-2.0
"""The search for a schedule of one function."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from typing import Any, Protocol

from .. import _core
from .._core import Candidate, LoggedTrial, PrimFunc, Schedule
from ..ir import structural_equal
from .measure.roofline import Limit
from .measure.worker import Attempt, Check, Duel, Outcome, Request
from .records.records import is_written
from .records.trial_log import TrialLog
from .results.result import Trial, Tuned
from .search.search import Search

FINALISTS = 3
CHECKED = "compared with the program without a schedule"
UNCHECKED = "compared with the default schedule"


class RunsCandidates(Protocol):
    """Whatever measures candidates."""

    def run(self, request: Request) -> Outcome:
        """Measure one candidate, or one beside the default schedule; or check its results."""


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
    log
        What earlier searches have measured, which this one goes on with.
    """

    def __init__(
        self,
        func: PrimFunc,
        search: Search,
        runner: RunsCandidates,
        weight: float = 1.0,
        begun: float | None = None,
        log: TrialLog | None = None,
    ) -> None:
        self.func = func
        self.weight = weight
        self.trials: list[Trial] = []
        self.times = _core.TrialTimes()
        self.is_exhausted = False
        self._search = search
        self._runner = runner
        self._begun = time.monotonic() if begun is None else begun
        self._candidates: list[tuple[float, int, Candidate]] = []
        self._log = log
        self.limit: Limit | None = None
        """What a call asks of this machine at least; None where that is not known."""
        self.work = 0.0, 0.0
        """How many operations a call asks for, and how many bytes its tensors have."""
        self.default_seconds = self._measure_default()
        if log is not None:
            earlier = search.resume(log.all(), FINALISTS)
            self._candidates = [
                (seconds, -1 - number, candidate)
                for number, (candidate, seconds) in enumerate(earlier)
            ]

    @property
    def limit_seconds(self) -> float:
        """What a call takes at least on this machine; 0 where that is not known."""
        return self.limit.seconds if self.limit else 0.0

    @property
    def best_seconds(self) -> float:
        """The time of the quickest candidate; infinity before there is one."""
        return min((seconds for seconds, _, _ in self._candidates), default=math.inf)

    @property
    def result_seconds(self) -> float:
        """The time of the quickest candidate, or of the default schedule where that is quicker."""
        return min(self.best_seconds, self.default_seconds)

    @property
    def expected_gain(self) -> float:
        """The share of `result_seconds` that the best candidate left is expected to save."""
        return self._search.expected_gain(self.result_seconds)

    @property
    def refused(self) -> dict[str, int]:
        """How many draws were no legal schedule, by what was said."""
        return self._search.refused

    def step(self, limit: int = 1) -> int:
        """Measure more candidates, as many as the runner takes at once; return how many.

        When there is none, the task is exhausted.

        Parameters
        ----------
        limit
            How many at most.
        """
        count = min(limit, getattr(self._runner, "parallelism", 1))
        proposed = [self._search.propose() for _ in range(count)]
        candidates = [candidate for candidate in proposed if candidate is not None]
        self.is_exhausted = not candidates
        requests = [Attempt(each.scheduled, self.result_seconds) for each in candidates]
        for candidate, outcome in zip(candidates, run_all(self._runner, requests)):
            self._take(candidate, outcome)
        return len(candidates)

    def _take(self, candidate: Candidate, outcome: Outcome) -> None:
        """Take note of what became of a candidate."""
        seconds, failure, detail = _time_of(outcome)
        if failure is None:
            self._search.learn(candidate, seconds)
            self._candidates.append((seconds, len(self.trials), candidate))
            self._candidates = sorted(self._candidates, key=_rank)[:FINALISTS]
        if self._log is not None:
            log, took = self._log, None if failure else seconds
            trial = LoggedTrial.of(candidate, took)
            if not is_written(lambda: log.add(trial)):
                self._log = None
        elapsed = time.monotonic() - self._begun
        self.times.add(seconds)
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
        ranked = [candidate for _, _, candidate in sorted(self._candidates, key=_rank)]
        duels = [
            (self._runner.run(Duel(candidate.scheduled)), candidate)
            for candidate in ranked[:finalists]
        ]
        duels = [(duel, candidate) for duel, candidate in duels if duel.failure is None]
        duels = sorted(duels, key=lambda item: -_speedup(item[0])) or [(Outcome(), ranked[0])]
        if finalists and _speedup(duels[0][0]) < 1:
            # Nothing found is as quick as the default schedule, which may be of the space itself.
            starts = [
                (self._runner.run(Duel(each.scheduled)), each) for each in self._search.started
            ]
            duels = [pair for pair in starts if pair[0].failure is None] + duels
        outcome, chosen, check = self._first_right(duels) if finalists else (*duels[0], UNCHECKED)
        return Tuned(
            func=self.func,
            schedule=self._replayed(chosen),
            trials=self.trials,
            refused=self.refused,
            seconds=statistics.median(outcome.samples or [self.best_seconds]),
            default_seconds=statistics.median(outcome.default_samples or [self.default_seconds]),
            duel=outcome,
            check=check,
            was_interrupted=was_interrupted,
            is_exhausted=self.is_exhausted,
            options=options,
            limit=self.limit,
        )

    def _first_right(
        self, duels: list[tuple[Outcome, Candidate]]
    ) -> tuple[Outcome, Candidate, str]:
        """Return the first whose results are those of the program without a schedule."""
        for duel, candidate in duels:
            checked = self._runner.run(Check(candidate.scheduled))
            if checked.failure is None:
                return duel, candidate, CHECKED
            if checked.failure != "wrong result":
                return duel, candidate, UNCHECKED
        return _core.fail(
            "UserError",
            "default_schedule_is_right",
            f"tune: {self.func.name}: the program without a schedule gives other results than the "
            f"default schedule and the candidates: {checked.detail}",
            hint="compare ls.build(x) and ls.build(x, default_schedule=False): sums of many "
            "numbers of both signs differ by rounding; pass other arguments",
        )

    def _replayed(self, candidate: Candidate) -> Schedule:
        """Return the schedule that a record of the candidate gives."""
        sch = Schedule(self.func)
        candidate.trace.apply_to_schedule(sch)
        if not structural_equal(Candidate(sch).scheduled, candidate.scheduled):
            _core.fail(
                "InternalError",
                "trace_gives_the_schedule",
                f"tune: {self.func.name}: the trace of the winner gives another program",
                hint="report this, with the trace",
            )
        return sch

    def _measure_default(self) -> float:
        outcome = self._runner.run(Attempt(None, math.inf))
        self.work = outcome.flops, outcome.bytes
        seconds, failure, _ = _time_of(outcome)
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


def run_all(runner: RunsCandidates, requests: Sequence[Request]) -> list[Outcome]:
    """Carry out requests: at once where a runner can, else one after the other."""
    at_once = getattr(runner, "run_all", None)
    if at_once is not None and len(requests) > 1:
        return list(at_once(requests))
    return [runner.run(request) for request in requests]


def _time_of(outcome: Outcome) -> tuple[float, str | None, str]:
    """Return the time of a call, and why there is none."""
    if outcome.failure is not None:
        return math.inf, outcome.failure, outcome.detail
    seconds: Any = statistics.median(outcome.samples) if outcome.samples else math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        return math.inf, "no time", f"the runner returned {seconds} s, expected a positive number"
    return float(seconds), None, ""


def _rank(item: tuple[float, int, Candidate]) -> tuple[float, int]:
    return item[:2]


def _speedup(duel: Outcome) -> float:
    pairs = zip(duel.default_samples, duel.samples)
    return statistics.median([default / own for default, own in pairs] or [0.0])
