# SPDX-License-Identifier: Apache-2.0
"""Runs candidates in a child process that may crash or hang."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ... import _core
from ..._core import PrimFunc, program_key
from .closed_at_exit import ClosedAtExit
from .worker import LENGTH, Job, Outcome, Prepare, Request, available_processors

PACKAGE_PATH = Path(__file__).resolve().parents[3]


class Runner(ClosedAtExit):
    """A child process, started again when it was lost.

    Parameters
    ----------
    job
        The program, its arguments, and how it is built.
    timeout
        Seconds that a candidate has.
    compile_timeout
        Seconds that compiling it ahead has; without, the same.
    """

    start_timeout = 600.0  # The default schedule may be slow.

    def __init__(self, job: Job, timeout: float, compile_timeout: float | None = None) -> None:
        self._job = job
        self._timeout = timeout
        self._compile_timeout = timeout if compile_timeout is None else compile_timeout
        self._failed: dict[str, Outcome] = {}
        self.batch = available_processors()
        """So many candidates are compiled at once, in threads of the child process."""
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115

    def close(self) -> None:
        """End the process."""
        self._stop()
        self._errors.close()

    def prepare(self, scheduled: Sequence[PrimFunc]) -> None:
        """Compile candidates that are going to be measured, each within the limit.

        One that takes longer has failed. What compiles it ends with the process, so that nothing
        is measured beside it.
        """
        self.start()
        rounds = -(-len(scheduled) // self.batch)
        limit = self._compile_timeout * rounds + self._timeout
        reply = self._ask(Prepare(list(scheduled), self._compile_timeout), limit)
        if isinstance(reply, tuple):  # One of them ended the process; each is compiled on its own.
            self._failed = {}
            self._stop()
            return
        failed = [(func, outcome) for func, outcome in zip(scheduled, reply) if outcome.failure]
        self._failed = {program_key(func): outcome for func, outcome in failed}
        if any(outcome.failure == "compile timeout" for _, outcome in failed):
            self._stop()

    def run(self, request: Request) -> Outcome:
        """Carry out a request; a lost process is an outcome."""
        if request.scheduled is not None and self._failed:
            known = self._failed.get(program_key(request.scheduled))
            if known is not None:
                return known
        self.start()
        reply = self._ask(request, self._timeout)
        if isinstance(reply, Outcome):
            return reply
        failure, detail = reply
        self._stop()
        return Outcome(failure=failure, detail=detail)

    def start(self) -> None:
        """Start the process, if there is none; what the program gives is computed once.

        Raises
        ------
        UserError
            The program does not run with the default schedule.
        """
        if self._process is not None:
            return
        path = os.pathsep.join([str(PACKAGE_PATH), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loopsmith.tuning.measure.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # An interrupt is for the search alone.
            env={**os.environ, "PYTHONPATH": path},
        )
        reply = self._ask(self._job, self.start_timeout)
        if isinstance(reply, tuple):
            self._stop()
            _core.fail(
                "UserError",
                "program_runs",
                f"tune: the program with the default schedule failed: {reply[0]}: {reply[1]}",
                hint="call ls.build(x) with these arguments",
            )
        self._job = replace(self._job, expected=reply)

    def _ask(self, request: Any, timeout: float) -> Any:
        """Return the reply; a pair of a failure and what was said where there is none."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(request, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            return _load_within(process.stdout, timeout)
        except TimeoutError:
            return "timeout", f"no answer within {timeout:g} s"
        except (EOFError, OSError, pickle.UnpicklingError):
            return "crash", self._last_words()

    def _last_words(self) -> str:
        assert self._process is not None
        self._process.wait(timeout=10)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"exit status {self._process.returncode}" + "".join(
            f"; {line}" for line in lines[-1:]
        )

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # What was not sent is not needed.
                    pipe.close()
        self._process = None


def _load_within(pipe: IO[bytes], timeout: float) -> Any:
    """Return the next reply of a pipe: its length, and a pickle."""
    deadline = time.monotonic() + timeout
    (size,) = LENGTH.unpack(_read_within(pipe, LENGTH.size, deadline))
    return pickle.loads(_read_within(pipe, size, deadline))


def _read_within(pipe: IO[bytes], size: int, deadline: float) -> bytes:
    """Return so many bytes of a pipe."""
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while size > 0:
            if not selector.select(max(deadline - time.monotonic(), 0)):
                raise TimeoutError
            part = os.read(pipe.fileno(), min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
    return b"".join(parts)
