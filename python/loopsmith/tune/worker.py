# SPDX-License-Identifier: Apache-2.0
"""The child process in which candidates are compiled, checked and measured.

Requests and replies are pickles, through the standard input and output. A candidate that crashes
takes this process along, and nothing else.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from .. import _core
from .._core import PrimFunc, Schedule
from ..driver import build
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
    expected: list[Any] | None = None


@dataclass(frozen=True)
class Attempt:
    """A candidate to be measured, and the time of the quickest so far."""

    schedule: Schedule
    best: float


@dataclass(frozen=True)
class Duel:
    """A candidate to be measured side by side with the default schedule."""

    schedule: Schedule
    repeat: int = 20


@dataclass(frozen=True)
class Outcome:
    """What became of a request.

    Attributes
    ----------
    samples
        Seconds of calls; empty where it failed.
    failure, detail
        What kind of failure it was, and what was said.
    """

    samples: list[float] = field(default_factory=list)
    failure: str | None = None
    detail: str = ""


class Worker:
    """The state of the child process."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.arguments = copies(job.arguments)
        if job.expected is None:
            plain = build(job.func, target=job.target, default_schedule=False, **job.options)
            plain(*self.arguments)
            self.expected = copies(self.arguments)
        else:
            self.expected = job.expected
        # What the machine's libraries take is taken by now.
        used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + job.memory, used + job.memory))

    def answer(self, request: Attempt | Duel) -> Outcome:
        """Carry out a request."""
        try:
            module = build(request.schedule, target=self.job.target, **self.job.options)
        except (_core.UserError, MemoryError) as error:
            return Outcome(failure="compile error", detail=str(error))
        try:
            if isinstance(request, Duel):
                return self._duel(module, request.repeat)
            return self._attempt(module, request.best)
        except (_core.UserError, MemoryError) as error:
            return Outcome(failure="run error", detail=str(error))

    def _attempt(self, module: Any, best: float) -> Outcome:
        self._poison()
        module(*self.arguments)
        wrong = difference(self.expected, self.arguments)
        if wrong:
            return Outcome(failure="wrong result", detail=wrong)
        once = module.time(*self.arguments, warmup=0, repeat=1, number=1)
        if once.median > 3 * best:  # It cannot win any more.
            return Outcome(list(once.samples))
        return Outcome(list(module.time(*self.arguments, warmup=1, repeat=5).samples))

    def _duel(self, module: Any, repeat: int) -> Outcome:
        by_default = build(self.job.func, target=self.job.target, **self.job.options)
        measured = compare(by_default, module, *self.arguments, repeat=repeat)
        return Outcome([*measured.first.samples, *measured.second.samples])

    def _poison(self) -> None:
        """Bring all arguments back to what they were."""
        for array, original in zip(self.arguments, self.job.arguments):
            if isinstance(array, np.ndarray):
                np.copyto(array, original)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more; the first is the job."""
    worker = None
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        if isinstance(request, Job):
            worker = Worker(request)
            reply: Any = worker.expected
        else:
            assert worker is not None
            reply = worker.answer(request)
        pickle.dump(reply, replies)
        replies.flush()


def main() -> None:
    """Serve the process that started this one."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What programs print is no reply.
    serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
