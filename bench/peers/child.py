# SPDX-License-Identifier: Apache-2.0
"""One peer in a process of its own, which prepares, checks and measures what it is told.

Requests and replies are pickles, through the standard input and output; what libraries print goes
to the standard error. `child.py MODULE` serves the programs of a module.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from workloads import Workload

TOLERANCE = 2e-4
"""Of the largest element: sums in single precision, in any order."""


class Peer:
    """The programs of a library, and the one that is being measured."""

    def __init__(self, name: str) -> None:
        self._module: Any = importlib.import_module(name)
        self._call: Any = None
        self._arrays: Any = None  # Some libraries keep addresses alone.

    def version(self) -> str:
        """Return what the library says that it is."""
        return str(self._module.version())

    def prepare(self, workload: Workload, expected: str) -> str:
        """Compile a workload and check it; return what is wrong: ``""``, ``"none"``, or a text.

        The result's memory is poisoned before; `expected` is the file of the result in double.
        """
        self._call = None
        make = self._module.PROGRAMS.get(workload.kind)
        if make is None:
            return "none"
        out = np.full(workload.shapes[-1], np.nan, np.float32)
        self._arrays = [*workload.operands(), out]
        call = make(*self._arrays, **workload.sizes)
        if call is None:
            return "none"
        returned = call()
        got = out if np.isfinite(out).all() or returned is None else np.asarray(returned)
        wanted = np.load(expected)
        error = np.abs(got.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max()
        if not error <= TOLERANCE:
            return f"wrong: off by {error:.2g} of the largest"
        self._call = call
        return ""

    def sample(self, seconds: float) -> tuple[float, float]:
        """Return the time of a call and the processor's time for it, over so many seconds."""
        begin = time.perf_counter()
        self._call()
        once = time.perf_counter() - begin
        for _ in range(2 if once < 0.05 else 0):  # The caches, the threads, the clock.
            self._call()
        count = max(1, min(10_000, int(seconds / max(once, 1e-7))))
        processor, begin = time.process_time(), time.perf_counter()
        for _ in range(count):
            self._call()
        wall = time.perf_counter() - begin
        return wall / count, (time.process_time() - processor) / count


class Machine:
    """The limits of the machine, in the place of a peer."""

    def __init__(self) -> None:
        from limits import Limits

        threads = int(os.environ["OMP_NUM_THREADS"])
        # As peers are: with one thread, what other programs take does not count.
        self._clock = time.process_time if threads == 1 else time.perf_counter
        lanes = 16 if "avx512f" in Path("/proc/cpuinfo").read_text() else 8
        self._limits = Limits(threads, lanes)
        self._calls: list[tuple[Any, float]] = []

    def version(self) -> str:
        """Return how they are measured."""
        return "chains of products and copies, in C"

    def prepare(self, workload: Workload, expected: str) -> str:
        """Get ready to copy as many bytes as a workload touches."""
        del expected
        self._calls = [self._limits.peak(), self._limits.copy(workload.bytes)]
        return ""

    def sample(self, seconds: float) -> tuple[float, float]:
        """Return how many operations and how many bytes there are in a second."""
        del seconds
        rates = []
        for call, work in self._calls:
            call()
            begin, count = self._clock(), 0
            while (taken := self._clock() - begin) < 2e-3 or not count:
                call()
                count += 1
            rates.append(work * count / max(taken, 1e-9))
        return rates[0], rates[1]


def main() -> None:
    """Serve the process that started this one."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    peer: Any = None
    while True:
        try:
            method, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        begin = time.process_time()
        try:
            if peer is None:
                peer = Machine() if sys.argv[1] == "limits" else Peer(sys.argv[1])
            answer = getattr(peer, method)(*arguments)
        except Exception as error:  # Whatever a library raises is a line of the table.
            answer = error.__class__.__name__, str(error)[:300]
            method = "error"
        pickle.dump((method, answer, time.process_time() - begin), replies)
        replies.flush()


if __name__ == "__main__":
    main()
