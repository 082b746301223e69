# SPDX-License-Identifier: Apache-2.0
"""Candidates measured elsewhere: by a server on another machine, by workers of a cluster."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loopsmith.tuning.measure.ray_runner import RayRunner
from loopsmith.tuning.measure.remote import KEY, RemoteRunner
from loopsmith.tuning.measure.worker import Attempt, Job, Outcome, Request

import loopsmith as ls
from loopsmith import te, tuning

SIZE = 32


def doubled(factor: float = 2.0) -> Any:
    a = te.placeholder((SIZE,), name="A")
    return te.create_prim_func([a, te.compute((SIZE,), lambda i: a[i] * factor, name="B")])


def job() -> Job:
    arguments = [np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)]
    return Job(doubled(), "llvm -mcpu=native", {}, arguments, memory=1 << 30)


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "loopsmith.tuning.serve", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, KEY: "secret"}
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().rpartition(":")[2])
    yield process, port
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_server_measures_what_it_is_sent(server: tuple[Any, int]):
    with RemoteRunner("127.0.0.1", server[1], job(), key="secret") as runner:
        assert runner.run(Attempt(doubled(), math.inf)).samples
        assert runner.run(Attempt(doubled(3.0), math.inf)).failure == "wrong result"
        best = ls.tune(doubled(), trials=3, runner=runner)
    assert len(best.trials) == 3 and not best.failures


def test_a_server_that_is_lost_ends_the_search_with_what_it_has(
    server: tuple[Any, int], tmp_path: Path
):
    class Losing:
        """Kills the server after some candidates."""

        def __init__(self, runner: RemoteRunner) -> None:
            self.runner, self.count = runner, 0

        def run(self, request: Request) -> Outcome:
            self.count += 1
            if self.count == 4:
                server[0].send_signal(signal.SIGKILL)
            return self.runner.run(request)

    store = tmp_path / "records.db"
    with RemoteRunner("127.0.0.1", server[1], job(), key="secret") as runner:
        best = ls.tune(doubled(), trials=50, runner=Losing(runner), records=store)
    assert best.was_interrupted and len(best.trials) == 2
    with tuning.Records(store).database.open() as database:
        assert database.execute("SELECT count(*) FROM trials").fetchone()[0] == 2


def test_who_has_another_key_is_refused(server: tuple[Any, int]):
    with pytest.raises(ConnectionError, match=r"tune: no runner at 127.0.0.1:\d+: .*digest"):
        RemoteRunner("127.0.0.1", server[1], job(), key="guessed")
    with pytest.raises(ls.UserError, match=rf"has no key\n.*set {KEY} on both sides"):
        RemoteRunner("127.0.0.1", server[1], job())


def test_a_cluster_without_ray_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ls.UserError, match=r"Ray is not installed\n.*install ray"):
        RayRunner(job(), workers=2)


def test_a_worker_of_a_cluster_that_is_lost_loses_no_result():
    """Two workers; one is killed after the first candidates."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        with RayRunner(job(), workers=2) as runner:
            requests: list[Request] = [Attempt(doubled(), math.inf)] * 4
            assert all(outcome.samples for outcome in runner.run_all(requests))
            ray.kill(runner.workers[0])
            outcomes = runner.run_all([*requests, Attempt(doubled(3.0), math.inf)])
            assert [outcome.failure for outcome in outcomes] == [None] * 4 + ["wrong result"]
            assert runner.losses == 1
            best = ls.tune(doubled(), trials=6, runner=runner)
            assert len(best.trials) == 6 and not best.failures
    finally:
        ray.shutdown()


def test_runners_that_measure_several_at_once_are_given_several():
    class Many:
        parallelism = 4

        def __init__(self) -> None:
            self.groups: list[int] = []

        def run(self, request: Request) -> Outcome:
            return Outcome([1.0], [1.0])

        def run_all(self, requests: list[Request]) -> list[Outcome]:
            self.groups.append(len(requests))
            return [Outcome([0.5]) for _ in requests]

    runner = Many()
    best = ls.tune(doubled(), trials=10, runner=runner)
    assert len(best.trials) == 10 and runner.groups == [4, 4, 2]
