# SPDX-License-Identifier: Apache-2.0
"""What is asked of the child process, and how it compiles, checks and measures candidates."""

from __future__ import annotations

import math
import os
import resource
import struct
import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..._core import PrimFunc, Target, program_key
from ...driver import build
from ...errors import UserError
from ..sizes.size_range import sizes_of, sizes_text
from .in_time import ended_in_time
from .workload import copies, difference


@dataclass(frozen=True)
class Job:
    """What all candidates of a search have in common."""

    func: PrimFunc
    target: str
    options: dict[str, Any]
    arguments: list[Any]
    memory: int
    is_strict: bool = False  # Results are those of the program without a schedule, to the bit;
    reference: PrimFunc | None = None  # or those of this program.
    expected: list[list[Any]] | None = None  # For `arguments`, then for each of `others`.
    others: list[list[Any]] = field(default_factory=list)  # Arguments of other sizes.


@dataclass(frozen=True)
class Prepare:
    """Candidates that are going to be measured: they are compiled, each within some seconds."""

    scheduled: list[PrimFunc]
    seconds: float


@dataclass(frozen=True)
class Attempt:
    """A candidate to be measured, as it is scheduled; and the best time so far.

    None in its place means the default schedule.
    """

    scheduled: PrimFunc | None
    best: float
    point: int = 0
    """Which of the sizes that were drawn its arguments have."""


@dataclass(frozen=True)
class Duel:
    """A candidate to be measured side by side with the default schedule, so often warm and cold."""

    scheduled: PrimFunc
    repeat: int = 20
    cold_repeat: int = 6
    point: int = 0


@dataclass(frozen=True)
class Check:
    """A candidate whose results are to be compared with the program without a schedule."""

    scheduled: PrimFunc
    point: int = 0


LENGTH = struct.Struct("<Q")
"""How the length of a reply stands before it."""
SAMPLE_SECONDS = 1e-3
"""How long calls in a sample of a duel take together, at least, about."""
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
    flops, bytes
        How many operations a call asks for, and how many bytes its tensors have.
    failure, detail
        What kind of failure it was, and what was said; `Trial` has the kinds.
    """

    samples: list[float] = field(default_factory=list)
    default_samples: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    default_cold: list[float] = field(default_factory=list)
    failure: str | None = None
    detail: str = ""
    flops: float = 0.0
    bytes: float = 0.0


def available_processors() -> int:
    """Return on how many processors this process may run."""
    return len(os.sched_getaffinity(0))


class Case:
    """Arguments of one size, and what a right program makes of them.

    Parameters
    ----------
    originals
        The arguments, which stay as they are; programs are called with copies.
    is_exact
        Whether results are to be equal to the bit.
    """

    def __init__(self, originals: list[Any], is_exact: bool) -> None:
        self.originals = originals
        self.expected: list[Any] = []
        self._is_exact = is_exact
        self._arguments = copies(originals)

    def results(self, module: Any) -> list[Any]:
        """Call a program with the arguments as they were, and return what they have become."""
        for array, original in zip(self._arguments, self.originals):
            if isinstance(array, np.ndarray):
                np.copyto(array, original)
        module(*self._arguments)
        return self._arguments

    def difference(self, module: Any, expected: list[Any] | None = None) -> str:
        """Return where results differ from what is expected; empty where they do not."""
        wanted = self.expected if expected is None else expected
        return difference(wanted, self.results(module), self._is_exact) or ""

    def attempt(self, module: Any, best: float) -> Outcome:
        """Check and measure a program; what cannot be the quickest is measured once."""
        begin = time.perf_counter()
        results = self.results(module)
        first = time.perf_counter() - begin
        wrong = difference(self.expected, results, self._is_exact)
        if wrong:
            return Outcome(failure="wrong result", detail=wrong)
        if first > 10 * best + 1e-3:  # It cannot win any more, the caches being what they are.
            return Outcome([first])
        once = module.time(*self._arguments, warmup=0, repeat=1, number=1)
        if once.median > SLOWER * best:  # It cannot win any more.
            return Outcome(list(once.samples))
        taken = module.time(*self._arguments, warmup=1, repeat=5)
        return Outcome(list(taken.samples), flops=taken.flops or 0.0, bytes=taken.bytes or 0.0)

    def duel(self, by_default: Any, module: Any, repeat: int, cold_repeat: int) -> Outcome:
        """Measure two programs in turns, with what they need in the caches, and without.

        Calls are timed where they are made, without Python's part of them, as `attempt` does.
        """
        programs = (by_default, module)
        counts = [self._calls_in_a_sample(program) for program in programs]
        warm: tuple[list[float], list[float]] = ([], [])
        for turn in range(repeat):
            # Which goes first alternates: the second finds caches as the first left them.
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                taken = programs[which].time(
                    *self._arguments, warmup=0, repeat=1, number=counts[which]
                )
                warm[which].append(taken.samples[0])
        cold: tuple[list[float], list[float]] = ([], [])
        for _ in range(cold_repeat):
            for program, samples in zip(programs, cold):
                samples += program.time(*self._arguments, warmup=0, repeat=1, cold=True).samples
        return Outcome(warm[1], warm[0], cold=cold[1], default_cold=cold[0])

    def _calls_in_a_sample(self, program: Any) -> int:
        seconds: float = program.time(*self._arguments, warmup=0, repeat=1).median
        return max(1, math.ceil(SAMPLE_SECONDS / max(seconds, 1e-9)))


class Worker:
    """The state of the child process."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._ready: dict[str, Any] = {}
        self.cases = [Case(each, job.is_strict) for each in (job.arguments, *job.others)]
        if job.expected is None:
            by_default = self._default
            for case in self.cases:
                try:
                    case.expected = copies(case.results(by_default))
                except UserError as error:
                    if not job.others:
                        raise
                    sizes = sizes_text(sizes_of(job.func, case.originals))
                    raise UserError(f"with {sizes}: {error}") from None
        else:
            for case, expected in zip(self.cases, job.expected):
                case.expected = expected
        # What the machine's libraries take is taken by now.
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + job.memory, used + job.memory))

    @property
    def expected(self) -> list[list[Any]]:
        """What the program gives for each of the arguments."""
        return [case.expected for case in self.cases]

    def prepare(self, request: Prepare) -> list[Outcome]:
        """Compile candidates in threads; an outcome for each, which tells why it cannot run."""
        self._ready.clear()
        tasks = [partial(self._compiled, func) for func in request.scheduled]
        found = ended_in_time(tasks, available_processors(), request.seconds)
        late = Outcome(
            failure="compile timeout", detail=f"not compiled within {request.seconds:g} s"
        )
        for func, made in zip(request.scheduled, found):
            if made is not None and not isinstance(made, Outcome):
                self._ready[program_key(func)] = made
        return [
            late if made is None else made if isinstance(made, Outcome) else Outcome()
            for made in found
        ]

    def _compiled(self, func: PrimFunc) -> Any:
        try:
            return self._built(func)
        except Exception as error:  # A thread raises it nowhere.
            return Outcome(failure="compile error", detail=str(error))

    def answer(self, request: Request) -> Outcome:
        """Carry out a request."""
        try:
            module = self._default if request.scheduled is None else self._of(request.scheduled)
        except (UserError, MemoryError) as error:
            return Outcome(failure="compile error", detail=str(error))
        try:
            case = self.cases[request.point]
            if isinstance(request, Duel):
                return case.duel(self._default, module, request.repeat, request.cold_repeat)
            if isinstance(request, Check):
                wrong = case.difference(module, copies(case.results(self._plain)))
                return Outcome(failure="wrong result", detail=wrong) if wrong else Outcome()
            return case.attempt(module, request.best)
        except (UserError, MemoryError) as error:
            return Outcome(failure="run error", detail=str(error))

    @cached_property
    def _plain(self) -> Any:
        """The program without a schedule."""
        # A device takes no program as it is written.
        is_device = Target(self.job.target).kind in ("cuda", "opencl")
        target = "llvm -mcpu=native" if is_device else self.job.target
        func = self.job.reference or self.job.func
        return build(func, target=target, **self.job.options, default_schedule=False)

    @cached_property
    def _default(self) -> Any:
        """The program with the default schedule; with a numerics lock, without any."""
        func = self.job.reference or self.job.func
        return self._built(func, default_schedule=not self.job.is_strict)

    def _of(self, func: PrimFunc) -> Any:
        """Return the candidate as it was made ready, or compile it."""
        key = program_key(func)
        if key not in self._ready:
            self._ready = {key: self._built(func)}  # Kept: it is measured with each size.
        return self._ready[key]

    def _built(self, func: PrimFunc, **options: Any) -> Any:
        return build(func, target=self.job.target, **self.job.options, **options)
