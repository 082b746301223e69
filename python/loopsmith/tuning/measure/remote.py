# SPDX-License-Identifier: Apache-2.0
"""Candidates measured on another machine, which needs Python and this package alone.

There, ``python -m loopsmith.tuning.serve --port 9190`` serves; a client has to know the key that
``LOOPSMITH_RUNNER_KEY`` holds on both sides.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing.connection import Client
from typing import Any

from ... import _core
from .closed_at_exit import ClosedAtExit
from .worker import Job, Outcome, Request

KEY = "LOOPSMITH_RUNNER_KEY"


@dataclass(frozen=True)
class Start:
    """The job of a connection, and how long a candidate has."""

    job: Job
    timeout: float


class RemoteRunner(ClosedAtExit):
    """Measures candidates by a server on another machine.

    Where the connection is lost, the search ends with what it has, as at an interrupt.

    Parameters
    ----------
    host, port
        Where the server listens.
    job
        The program, its arguments, and how it is built.
    timeout
        Seconds that a candidate has, compiling included.
    key
        What both sides know; without, ``LOOPSMITH_RUNNER_KEY`` of the environment.

    Raises
    ------
    UserError
        There is no key.
    ConnectionError
        No runner listens there, or one with another key.
    """

    def __init__(
        self, host: str, port: int, job: Job, timeout: float = 10.0, key: str | None = None
    ) -> None:
        secret = key_of_runners(key)
        try:
            self._connection = Client((host, port), authkey=secret)
        except Exception as error:
            raise ConnectionError(f"tune: no runner at {host}:{port}: {error}") from None
        self._place = f"{host}:{port}"
        self._connection.send(Start(job, timeout))
        self._receive()  # It has computed what the program gives.

    def run(self, request: Request) -> Outcome:
        """Carry out a request there."""
        try:
            self._connection.send(request)
        except OSError as error:
            raise ConnectionError(f"tune: the runner at {self._place} is lost: {error}") from None
        outcome = self._receive()
        assert isinstance(outcome, Outcome)
        return outcome

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _receive(self) -> Any:
        try:
            reply = self._connection.recv()
        except (EOFError, OSError) as error:
            raise ConnectionError(
                f"tune: the runner at {self._place} is lost: {error or 'it hung up'}"
            ) from None
        if isinstance(reply, str):
            _core.fail("UserError", "program_runs", reply, hint="call ls.build(x) there")
        return reply


def key_of_runners(key: str | None) -> bytes:
    """Return what both sides know: what is given, or what the environment has."""
    found = key or os.environ.get(KEY, "")
    if not found:
        _core.fail(
            "UserError",
            "runner_has_key",
            "tune: a runner on another machine has no key",
            hint=f"set {KEY} on both sides: whoever has it may run code there",
        )
    return found.encode()
