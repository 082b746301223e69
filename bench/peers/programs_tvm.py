# SPDX-License-Identifier: Apache-2.0
"""The workloads by Apache TVM, whose tuner has so many trials as BENCH_TRIALS says."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import tvm
from tensors import tensors_of
from tvm import te
from tvm.s_tir import meta_schedule

THREADS = int(os.environ["OMP_NUM_THREADS"])
TRIALS = int(os.environ.get("BENCH_TRIALS", "0"))


def version() -> str:
    """Return which TVM, and how long it may tune."""
    return f"TVM {tvm.__version__}, MetaSchedule, {TRIALS} trials"


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
        tensors_ = [tvm.runtime.from_dlpack(array) for array in arrays]
        return lambda: function(*tensors_)

    return prepare


PROGRAMS = {kind: tuned(make) for kind, make in tensors_of(te).items() if kind != "prefix sum"}
"""Its schedules take no scan."""
