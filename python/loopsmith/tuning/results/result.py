# SPDX-License-Identifier: Apache-2.0
"""What a search has found, and what it tells about the way there."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..._core import Effect, IRModule, Module, PrimFunc, Schedule, Trace, Trial
from ...driver import build
from ...timing import seconds_text
from ..measure.roofline import Limit
from ..measure.worker import Outcome
from .page import report_of, reported, written
from .plots import figure


class Explanation(list[Effect]):
    """The choices of a schedule, those that mattered most first."""

    def __str__(self) -> str:
        """Return a line for each choice, with its quickest and its slowest decision."""
        if not self:
            return "no choice was measured with two decisions"
        return "\n".join(map(str, self))


def explanation(trace: Trace, trials: Sequence[Trial]) -> Explanation:
    """Return which choices of a trace mattered, by the trials with its steps."""
    return Explanation(_core.effects_of(trace, list(trials)))


@dataclass(frozen=True)
class Tuned:
    """The quickest schedule that a search has found.

    Attributes
    ----------
    func
        The program without a schedule.
    schedule
        The quickest schedule of the space.
    seconds, default_seconds
        Median times of a call with it, and with the default schedule measured beside it.
    trials
        All candidates, in the order in which they were measured.
    refused
        How many draws were no legal schedule, by what was said.
    check
        What the results were compared with.
    was_interrupted
        Whether the search was ended by an interrupt of the keyboard.
    is_exhausted
        Whether no new candidate was found any more.
    limit
        What a call asks for and what this machine does at most; None where that is not known.
    """

    func: PrimFunc
    schedule: Schedule
    seconds: float
    default_seconds: float
    trials: list[Trial]
    refused: dict[str, int]
    duel: Outcome
    check: str
    was_interrupted: bool = False
    is_exhausted: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    limit: Limit | None = None

    @property
    def trace(self) -> Trace:
        """The steps of the schedule."""
        return self.schedule.trace

    @property
    def limit_seconds(self) -> float:
        """What a call takes at least on this machine; 0 where that is not known.

        It computes at the machine's peak and touches each byte once, as measured.
        """
        return self.limit.seconds if self.limit else 0.0

    @property
    def speedup(self) -> float:
        """How many times quicker than the default schedule it is: of pairs, the median."""
        ratios = _ratios(self.duel.default_samples, self.duel.samples)
        return statistics.median(ratios) if ratios else self.default_seconds / self.seconds

    @property
    def is_quicker(self) -> bool:
        """Whether it beats the default schedule beyond the noise of the machine.

        Warm, nine tenths of the pairs say so; with cold caches it is not slower in all pairs.
        """
        warm = sorted(_ratios(self.duel.default_samples, self.duel.samples))
        cold = _ratios(self.duel.default_cold, self.duel.cold)
        return bool(warm) and warm[len(warm) // 10] > 1 and (not cold or max(cold) >= 1)

    @property
    def failures(self) -> Counter[str]:
        """How many candidates failed, by the kind of failure."""
        return Counter(trial.failure for trial in self.trials if trial.failure)

    def build(self) -> Module:
        """Compile the schedule, as it was measured."""
        return build(self.schedule, **self.options)

    def explain(self) -> Explanation:
        """Return which choices mattered, by what was measured.

        Compared are the trials whose steps are those of the best one, with other decisions.
        """
        return explanation(self.trace, self.trials)

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a report as a page of its own; with a path, write it there, too."""
        return reported([report_of(self)], path)

    def report(self, *paths: str | os.PathLike[str]) -> None:
        """Write the report into files: a page with charts, or the charts alone.

        Parameters
        ----------
        paths
            Each ends with ``.html``, ``.svg`` or ``.png``; the last one asks for matplotlib.

        Raises
        ------
        UserError
            A path ends with something else, or matplotlib is not installed.

        Examples
        --------
        >>> best.report("search.html", "search.svg", "search.png")
        """
        written([report_of(self)], paths)

    def plot(self) -> Any:
        """Draw the search by matplotlib; return the figure.

        It has the time of each candidate and the best so far, the times with each decision of what
        mattered most, and where that is known, the roofline of the machine.

        Raises
        ------
        UserError
            matplotlib is not installed.
        """
        return figure([report_of(self)])

    def __str__(self) -> str:
        """Return the times, how many candidates there were, and what became of them."""
        if self.is_quicker:
            against = f"{self.speedup:.3g} times as quick as the default schedule"
        elif self.speedup > 1:
            against = (
                f"{self.speedup:.3g} times as quick as the default schedule by the median, "
                "but not beyond the machine's noise: measure again on a quiet machine"
            )
        else:
            against = (
                f"the default schedule takes {seconds_text(self.default_seconds)}: "
                "ls.build(x) is as quick or quicker"
            )
        failed = "".join(f", {count} with {what}" for what, count in self.failures.items())
        share = self.limit_seconds / min(self.seconds, self.default_seconds)
        reached = f", {share:.0%} of the machine's limit" if share else ""
        points = "; the space has one point" if self.is_exhausted and len(self.trials) == 1 else ""
        return (
            f"{self.func.name}: {seconds_text(self.seconds)}, {against}{reached}; "
            f"{len(self.trials)} candidates{failed}{points}"
        )


@dataclass(frozen=True)
class TunedModule:
    """The quickest schedules of the functions of a module, by name.

    Attributes
    ----------
    failures
        Why nothing was found for others, which keep their default schedule.
    """

    module: IRModule
    functions: Mapping[str, Tuned]
    options: dict[str, Any] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> Module:
        """Compile the module; functions whose default schedule is quicker have that one."""
        functions = []
        for name, func in zip(self.module.names, self.module.functions):
            found = self.functions.get(name.name_hint)
            if found is not None and found.is_quicker:
                func = found.schedule.func.with_attr("global_symbol", name.name_hint)
                func = func.with_attr("tir.is_scheduled", 1)
            functions.append(func)
        made = IRModule(names=list(self.module.names), functions=functions, attrs=self.module.attrs)
        return build(made, **self.options)

    def explain(self) -> dict[str, Explanation]:
        """Return which choices mattered, by what was measured, for each function."""
        return {name: found.explain() for name, found in self.functions.items()}

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the reports of all functions as one page; with a path, write it there, too."""
        return reported(list(map(report_of, self.functions.values())), path)

    def report(self, *paths: str | os.PathLike[str]) -> None:
        """Write the reports of all functions into files, as `Tuned.report` does."""
        written(list(map(report_of, self.functions.values())), paths)

    def __str__(self) -> str:
        """Return a line for each function."""
        failed = [f"{name}: {said}" for name, said in self.failures.items()]
        return "\n".join([*map(str, self.functions.values()), *failed])


def _ratios(first: list[float], second: list[float]) -> list[float]:
    return [a / b for a, b in zip(first, second)]
