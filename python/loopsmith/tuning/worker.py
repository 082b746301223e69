# SPDX-License-Identifier: Apache-2.0
"""What is asked of the child process, and how it compiles, checks and measures candidates."""

from __future__ import annotations

import os
import resource
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import numpy as np

from .._core import PrimFunc
from ..driver import build
from ..errors import UserError
from ..timing import compare
from .workload import copies, difference


@dataclass(frozen=True)
class Job:
    """What all candidates of a search have in common."""

    func: PrimFunc
    target: str
    options: dict[str, Any]
    arguments: list[Any]
    memory: int
    is_strict: bool = False  # Results are those of the program without a schedule, to the bit.
    expected: list[Any] | None = None


@dataclass(frozen=True)
class Attempt:
    """A candidate to be measured, as it is scheduled; and the best time so far.

    None in its place means the default schedule.
    """

    scheduled: PrimFunc | None
    best: float


@dataclass(frozen=True)
class Duel:
    """A candidate to be measured side by side with the default schedule."""

    scheduled: PrimFunc
    repeat: int = 20


@dataclass(frozen=True)
class Check:
    """A candidate whose results are to be compared with the program without a schedule."""

    scheduled: PrimFunc


LENGTH = struct.Struct("<Q")
"""How the length of a reply stands before it."""
SLOWER = 1.5
"""A candidate that takes so many times what the quickest takes is measured once."""

Request = Union[Attempt, Duel, Check]


@dataclass(frozen=True)
class Outcome:
    """What became of a request.

    Attributes
    ----------
    samples
        Seconds of calls; empty where it failed.
    default_samples
        Of a duel: those of the default schedule, each beside one of `samples`.
    cold, default_cold
        Of a duel: seconds of calls whose data is in no cache.
    failure, detail
        What kind of failure it was, and what was said.
    """

    samples: list[float] = field(default_factory=list)
    default_samples: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    default_cold: list[float] = field(default_factory=list)
    failure: str | None = None
    detail: str = ""


class Worker:
    """The state of the child process."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.arguments = copies(job.arguments)
        if job.expected is None:
            self._default()(*self.arguments)
            self.expected = copies(self.arguments)
        else:
            self.expected = job.expected
        # What the machine's libraries take is taken by now.
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + job.memory, used + job.memory))

    def answer(self, request: Request) -> Outcome:
        """Carry out a request."""
        try:
            module = (
                self._default() if request.scheduled is None else self._built(request.scheduled)
            )
        except (UserError, MemoryError) as error:
            return Outcome(failure="compile error", detail=str(error))
        try:
            if isinstance(request, Duel):
                return self._duel(module, request.repeat)
            if isinstance(request, Check):
                return self._check(module)
            return self._attempt(module, request.best)
        except (UserError, MemoryError) as error:
            return Outcome(failure="run error", detail=str(error))

    def _attempt(self, module: Any, best: float) -> Outcome:
        begin = time.perf_counter()
        results = self._results(module)
        first = time.perf_counter() - begin
        wrong = self._difference(self.expected, results)
        if wrong:
            return Outcome(failure="wrong result", detail=wrong)
        if first > 10 * best + 1e-3:  # It cannot win any more, the caches being what they are.
            return Outcome([first])
        once = module.time(*self.arguments, warmup=0, repeat=1, number=1)
        if once.median > SLOWER * best:  # It cannot win any more.
            return Outcome(list(once.samples))
        return Outcome(list(module.time(*self.arguments, warmup=1, repeat=5).samples))

    def _duel(self, module: Any, repeat: int) -> Outcome:
        by_default = self._default()
        warm = compare(by_default, module, *self.arguments, repeat=repeat)
        cold: tuple[list[float], list[float]] = ([], [])
        for _ in range(repeat // 4 + 1):
            for program, samples in zip((by_default, module), cold):
                samples += program.time(*self.arguments, warmup=0, repeat=1, cold=True).samples
        return Outcome(
            list(warm.second.samples), list(warm.first.samples), cold=cold[1], default_cold=cold[0]
        )

    def _check(self, module: Any) -> Outcome:
        plain = self._built(self.job.func, default_schedule=False)
        expected = copies(self._results(plain))
        wrong = self._difference(expected, self._results(module))
        return Outcome(failure="wrong result" if wrong else None, detail=wrong or "")

    def _default(self) -> Any:
        """Compile the program with the default schedule; with a numerics lock, without any."""
        return self._built(self.job.func, default_schedule=not self.job.is_strict)

    def _built(self, func: PrimFunc, **options: Any) -> Any:
        return build(func, target=self.job.target, **self.job.options, **options)

    def _difference(self, expected: list[Any], got: list[Any]) -> str | None:
        return difference(expected, got, self.job.is_strict)

    def _results(self, module: Any) -> list[Any]:
        """Call a program with the arguments as they were, and return what they have become."""
        for array, original in zip(self.arguments, self.job.arguments):
            if isinstance(array, np.ndarray):
                np.copyto(array, original)
        module(*self.arguments)
        return self.arguments
