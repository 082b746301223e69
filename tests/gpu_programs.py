# SPDX-License-Identifier: Apache-2.0
"""Programs and schedules that several tests of kernels use."""

from __future__ import annotations

from typing import Any

import gpu_devices
import numpy as np
import pytest
import test_gpu_schedules as schedules

import loopsmith as ls
from loopsmith import te, tir

RNG = np.random.default_rng(7)


def script(text: str) -> tir.Schedule:
    return tir.Schedule(ls.from_source(text))


def run(sch: tir.Schedule, target: str, *arrays: Any) -> ls.Module:
    """Build for the target, and call, where something runs its code."""
    gpu_devices.require(target)
    module = ls.build(sch, target=target)
    module(*arrays)
    return module


def scheduled_by(monkeypatch: pytest.MonkeyPatch, function: Any, *args: Any) -> tir.Schedule:
    """Return the schedule that a test of test_gpu_schedules.py ends with."""
    caught: list[tir.Schedule] = []
    monkeypatch.setattr(schedules, "finished", caught.append)
    function(*args)
    return caught[0]


ROWS = """
@T.prim_func
def main(A: T.Buffer((30, 200), "DTYPE"), C: T.Buffer((30,), "DTYPE")):
    for i, k in T.grid(30, 200):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.cast(0, "DTYPE")
            C[vi] = C[vi] + A[vi, vk]
"""


def matmul(n: Any, m: Any, k: Any) -> tir.PrimFunc:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


def bound_matmul(
    *, tile: int = 8, threads: tuple[str, str] = ("threadIdx.y", "threadIdx.x")
) -> Any:
    sch = script(schedules.MATMUL)
    i, j, _ = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, tile])
    j0, j1 = sch.split(j, [None, tile])
    sch.reorder(i0, j0, i1, j1)
    for loop, axis in zip((i0, j0, i1, j1), ("blockIdx.y", "blockIdx.x", *threads)):
        sch.bind(loop, axis)
    return sch


def refused(program: Any, target: str) -> ls.LowerError:
    with pytest.raises(ls.LowerError) as caught:
        ls.build(program, target=target)
    return caught.value
