# SPDX-License-Identifier: Apache-2.0
"""The search for a schedule of one function."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, Protocol

from .. import _core
from .._core import Candidate, PrimFunc, SizedSearch, Trial
from .measure.roofline import Limit
from .measure.worker import Attempt, Check, Duel, Outcome, Request
from .records.trial_log import TrialLog
from .results.result import Tuned
from .search.search import Search

FINALISTS = 3
CHECKED = "compared with the program without a schedule"
UNCHECKED = "compared with the default schedule"


class RunsCandidates(Protocol):
    """Whatever measures candidates."""

    def run(self, request: Request) -> Outcome:
        """Measure one candidate, or one beside the default schedule; or check its results."""


class Task(_core.Task):
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
        trials: list[Trial] = []
        super().__init__(
            func,
            SizedSearch(search),
            log,
            Measurer(runner),
            trials.append,
            time.monotonic() if begun is None else begun,
        )
        self.func = func
        self.weight = weight
        self.trials = trials
        self.limit: Limit | None = None
        """What a call asks of this machine at least; None where that is not known."""

    @property
    def limit_seconds(self) -> float:
        """What a call takes at least on this machine; 0 where that is not known."""
        return self.limit.seconds if self.limit else 0.0

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
        found = self.best(finalists)
        return Tuned(
            func=self.func,
            schedule=found.schedule,
            trials=self.trials,
            refused=self.refused,
            seconds=found.seconds,
            default_seconds=found.default_seconds,
            duel=Outcome(found.samples, found.default_samples, found.cold, found.default_cold),
            check=CHECKED if found.is_checked else UNCHECKED,
            was_interrupted=was_interrupted,
            is_exhausted=self.is_exhausted,
            options=options,
            limit=self.limit,
        )


class Measurer:
    """Asks a runner what the library wants to know of candidates.

    Parameters
    ----------
    runner
        It may measure several candidates at once, by a method `run_all`; `parallelism` says how
        many. It may make candidates ready, by a method `prepare`; `batch` says how many at once.
    repeat, cold_repeat
        How often a candidate is measured in a duel, warm and cold.
    """

    def __init__(self, runner: RunsCandidates, repeat: int = 20, cold_repeat: int = 6) -> None:
        self._runner = runner
        self._repeat = repeat
        self._cold_repeat = cold_repeat
        self.parallelism: int = getattr(runner, "parallelism", 1)
        self.batch: int = getattr(runner, "batch", 1)

    def measure(self, candidates: Sequence[Candidate], point: int, best: float) -> list[Outcome]:
        """Check and measure candidates; one that takes longer than `best` may be measured once."""
        return run_all(self._runner, [Attempt(each.scheduled, best, point) for each in candidates])

    def measure_reference(self, point: int) -> Outcome:
        """Measure the default schedule."""
        return self._runner.run(Attempt(None, math.inf, point))

    def duel(self, candidate: Candidate, point: int) -> Outcome:
        """Measure a candidate beside the default schedule, in turns."""
        return self._runner.run(Duel(candidate.scheduled, self._repeat, self._cold_repeat, point))

    def check(self, candidate: Candidate, point: int) -> Outcome:
        """Compare results with those of the program without a schedule."""
        return self._runner.run(Check(candidate.scheduled, point))

    def prepare(self, candidates: Sequence[Candidate]) -> None:
        """Make candidates ready that are going to be measured."""
        made: Any = getattr(self._runner, "prepare", None)
        if made is not None:
            made([each.scheduled for each in candidates])


def run_all(runner: RunsCandidates, requests: Sequence[Request]) -> list[Outcome]:
    """Carry out requests: at once where a runner can, else one after the other."""
    at_once = getattr(runner, "run_all", None)
    if at_once is not None and len(requests) > 1:
        return list(at_once(requests))
    return [runner.run(request) for request in requests]
