# SPDX-License-Identifier: Apache-2.0
"""What a search has found, and what it tells about the way there."""

from __future__ import annotations

import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._core import IRModule, Module, PrimFunc, Schedule, Trace
from ...driver import build
from ...timing import seconds_text
from ..measure.roofline import Limit
from ..measure.worker import Outcome
from ..spaces.holes import holes_of


@dataclass(frozen=True)
class Trial:
    """A candidate that was measured, or failed.

    Attributes
    ----------
    trace
        Its steps and decisions.
    seconds
        The median time of a call; infinite where it failed.
    failure, detail
        What kind of failure it was, and what was said: ``"compile error"``, ``"wrong result"``,
        ``"run error"``, ``"crash"``, ``"timeout"``, ``"no time"``; None for none.
    elapsed
        Seconds since the search began.
    """

    trace: Trace
    seconds: float
    failure: str | None
    detail: str
    elapsed: float


@dataclass(frozen=True)
class Effect:
    """What one choice was worth.

    Attributes
    ----------
    line
        The step that samples, as Python.
    ratio
        The median time with the slowest decision over that with the quickest.
    seconds
        The median time with each decision, the quickest first.
    """

    line: str
    ratio: float
    seconds: dict[str, float]


class Explanation(list[Effect]):
    """The choices of a schedule, those that mattered most first."""

    def __str__(self) -> str:
        """Return a line for each choice, with its quickest and its slowest decision."""
        if not self:
            return "no choice was measured with two decisions"
        return "\n".join(_effect_text(effect) for effect in self)


def explanation(trace: Trace, trials: Sequence[Trial]) -> Explanation:
    """Return which choices of a trace mattered, by the trials with its steps."""
    shape = _structure(trace)
    alike = [each for each in trials if not each.failure and _structure(each.trace) == shape]
    effects = []
    for hole in holes_of(trace):
        times: dict[str, list[float]] = defaultdict(list)
        for trial in alike:
            times[_decision_text(trial.trace.get_decision(hole.number))].append(trial.seconds)
        medians = sorted((statistics.median(found), text) for text, found in times.items())
        if len(medians) > 1:
            seconds = {text: median for median, text in medians}
            effects.append(Effect(hole.line, medians[-1][0] / medians[0][0], seconds))
    return Explanation(sorted(effects, key=lambda effect: -effect.ratio))


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
        from .page import page, report

        return page(self.func.name, [report(self)], path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the search by matplotlib; return the figure.

        It has the time of each candidate and the best so far, the times with each decision of what
        mattered most, and where that is known, the roofline of the machine.

        Parameters
        ----------
        path
            A ``.png`` or ``.svg`` to write.

        Raises
        ------
        UserError
            matplotlib is not installed.
        """
        from .plots import figure, written

        return written(figure(self), path)

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
        from .page import page, report

        return page(", ".join(self.functions), map(report, self.functions.values()), path)

    def __str__(self) -> str:
        """Return a line for each function."""
        failed = [f"{name}: {said}" for name, said in self.failures.items()]
        return "\n".join([*map(str, self.functions.values()), *failed])


def _ratios(first: list[float], second: list[float]) -> list[float]:
    return [a / b for a, b in zip(first, second)]


def _structure(trace: Trace) -> tuple[str, ...]:
    return tuple(str(inst.kind) for inst in trace.insts)


def _decision_text(decision: Any) -> str:
    if isinstance(decision, (list, tuple)):
        return f"[{', '.join(str(int(factor)) for factor in decision)}]"
    return str(decision)


def _effect_text(effect: Effect) -> str:
    decisions = list(effect.seconds.items())
    best, worst = decisions[0], decisions[-1]
    return (
        f"{effect.ratio:.3g} times: {effect.line}: {best[0]} {seconds_text(best[1])}, "
        f"{worst[0]} {seconds_text(worst[1])}"
    )
