# SPDX-License-Identifier: Apache-2.0
"""Candidates measured by many machines, which Ray brings together."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from ... import _core
from .closed_at_exit import ClosedAtExit
from .runner import Runner
from .worker import Job, Outcome, Request

MAX_LOSSES = 3
"""A candidate whose worker was lost so often is a failure: it may be what kills them."""


class RayRunner(ClosedAtExit):
    """Measures candidates by workers of a Ray cluster, several at once.

    Each worker has a child process of its own, as on one machine. A worker that is lost is
    replaced, and its candidate is measured again by another.

    Parameters
    ----------
    job
        The program, its arguments, and how it is built.
    workers
        How many there are.
    timeout
        Seconds that a candidate has, compiling included.
    resources
        What a worker needs, as `ray.remote` takes it: ``{"num_cpus": 2}``. It keeps workers apart:
        with all processors of a machine, nothing else is measured beside it.

    Raises
    ------
    UserError
        Ray is not installed.
    """

    def __init__(
        self,
        job: Job,
        workers: int,
        timeout: float = 10.0,
        resources: dict[str, Any] | None = None,
    ) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError:
            _core.fail(
                "UserError",
                "ray_is_installed",
                "RayRunner: Ray is not installed",
                hint="install ray, or leave out `runner`",
            )
        if not self._ray.is_initialized():
            self._ray.init(log_to_driver=False)
        self._kind = self._ray.remote(RayWorker)
        self._options = resources or {"num_cpus": 1}
        self._job = self._ray.put(job)
        self._timeout = timeout
        self.parallelism = workers
        self.workers = [self._start() for _ in range(workers)]
        """The actors; one that is lost is replaced."""
        self.losses = 0
        """How many workers were lost."""

    def run(self, request: Request) -> Outcome:
        """Carry out a request."""
        return self.run_all([request])[0]

    def run_all(self, requests: Sequence[Request]) -> list[Outcome]:
        """Carry out requests, one a worker at a time; return the outcomes in their order."""
        outcomes: list[Outcome | None] = [None] * len(requests)
        waiting = list(enumerate(requests))[::-1]
        losses = [0] * len(requests)
        running: dict[Any, tuple[int, int]] = {}
        idle = list(range(len(self.workers)))
        while waiting or running:
            while waiting and idle:
                number, request = waiting.pop()
                place = idle.pop()
                running[self.workers[place].run.remote(request)] = number, place
            (done,), _ = self._ray.wait(list(running), num_returns=1)
            number, place = running.pop(done)
            try:
                outcomes[number] = self._ray.get(done)
            except self._ray.exceptions.RayActorError as error:
                self.losses += 1
                losses[number] += 1
                self.workers[place] = self._start()
                if losses[number] < MAX_LOSSES:
                    waiting.append((number, requests[number]))
                else:
                    outcomes[number] = Outcome(failure="worker lost", detail=str(error))
            idle.append(place)
        return [outcome for outcome in outcomes if outcome is not None]

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            self._ray.kill(worker)

    def _start(self) -> Any:
        return self._kind.options(**self._options).remote(self._job, self._timeout)


class RayWorker:
    """An actor: it measures in a child process of its machine."""

    def __init__(self, job: Job, timeout: float) -> None:
        self._runner = Runner(job, timeout)

    def run(self, request: Request) -> Outcome:
        """Carry out a request."""
        return self._runner.run(request)
