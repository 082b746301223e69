# SPDX-License-Identifier: Apache-2.0
"""Some workloads by Apache TVM, whose tuner has so many trials as BENCH_TRIALS says."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import te
from tvm.s_tir import meta_schedule
from workloads import GELU

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
        tensors = make(**sizes)
        if tensors is None:
            return None
        module = tvm.IRModule({"main": te.create_prim_func(tensors)})
        target = tvm.target.Target(
            {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "num-cores": THREADS}
        )
        with tempfile.TemporaryDirectory() as folder:
            found = meta_schedule.tune_tir(
                module, target, folder, max_trials_global=TRIALS, num_trials_per_iter=16
            )
            schedule = meta_schedule.tir_integration.compile_tir(found, module, target)
            function = tvm.compile(schedule.mod, target)["main"]
        tensors_ = [tvm.runtime.from_dlpack(array) for array in arrays]
        return lambda: function(*tensors_)

    return prepare


def product(m: int, n: int, k: int, layout: str = "nn", batch: int = 0) -> Any:
    """C = A @ B."""
    if layout != "nn" or batch:
        return None
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "r")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]


def softmax(rows: int, columns: int) -> Any:
    """Softmax of rows."""
    a = te.placeholder((rows, columns), name="A")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    top = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((rows,), lambda i: te.sum(power[i, m], axis=m), name="total")
    return [a, te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="B")]


def gelu(rows: int, columns: int) -> Any:
    """Gelu of A with a bias, by tanh."""
    a, b = te.placeholder((rows, columns), name="A"), te.placeholder((columns,), name="bias")
    c = np.float32(GELU)

    def element(i: Any, j: Any) -> Any:
        x = a[i, j] + b[j]
        return x * te.tanh((x + x * x * x * 0.044715) * float(c)) * 0.5 + x * 0.5

    return [a, b, te.compute((rows, columns), element, name="B")]


def row_sums(rows: int, columns: int) -> Any:
    """B[i] = sum over k of A[i, k]."""
    a, k = te.placeholder((rows, columns), name="A"), te.reduce_axis((0, columns), "k")
    return [a, te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="B")]


def transpose(rows: int, columns: int) -> Any:
    """B[i, j] = A[j, i]."""
    a = te.placeholder((rows, columns), name="A")
    return [a, te.compute((columns, rows), lambda i, j: a[j, i], name="B")]


PROGRAMS = {
    "product": tuned(product),
    "softmax": tuned(softmax),
    "gelu": tuned(gelu),
    "row sums": tuned(row_sums),
    "transpose": tuned(transpose),
}
