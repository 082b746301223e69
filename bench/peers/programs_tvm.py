# SPDX-License-Identifier: Apache-2.0
"""The workloads by Apache TVM, whose tuner has so many trials as BENCH_TRIALS says."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tensors import tensors_of
from tvm import te
from tvm.s_tir import meta_schedule

THREADS = int(os.environ["OMP_NUM_THREADS"])
TRIALS = int(os.environ.get("BENCH_TRIALS", "0"))


def version() -> str:
    """Return which TVM, and how long it may tune."""
    return f"TVM {tvm.__version__}, MetaSchedule, {TRIALS} trials"


def aligned(array: Any) -> Any:
    """Return a copy at a multiple of 64 bytes, as TVM takes no others."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def tuned(make: Callable[..., Any]) -> Callable[..., Any]:
    """Tune a program, and return a call of the best one that was found."""

    def prepare(*arrays: Any, **sizes: Any) -> Any:
        if not TRIALS:
            return None
        module = tvm.IRModule({"main": te.create_prim_func(make(**sizes))})
        target = tvm.target.Target(
            {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "num-cores": THREADS}
        )
        with tempfile.TemporaryDirectory() as folder:
            found = meta_schedule.tune_tir(
                module, target, folder, max_trials_global=TRIALS, num_trials_per_iter=16
            )
            schedule = meta_schedule.tir_integration.compile_tir(found, module, target)
            if schedule is None:
                raise RuntimeError("none of its candidates was built and measured")
            function = tvm.compile(schedule.mod, target)["main"]
        own = [aligned(array) for array in arrays]
        tensors_ = [tvm.runtime.from_dlpack(array) for array in own]

        def call() -> Any:
            function(*tensors_)
            return own[-1]

        return call

    return prepare


PROGRAMS = {kind: tuned(make) for kind, make in tensors_of(te).items() if kind != "prefix sum"}
"""Its schedules take no scan."""
