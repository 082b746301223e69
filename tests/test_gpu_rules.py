# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs by rule."""

from __future__ import annotations

import re
from typing import Any

import gpu_devices
import numpy as np
import pytest
import test_gpu_schedules as schedules
from gpu_programs import RNG, ROWS, matmul

import loopsmith as ls
from loopsmith import te

RULES: dict[str, tuple[Any, int]] = {
    "matmul": (lambda: matmul(50, 70, 33), 1),
    "matmul of any size": (lambda: matmul(te.size_var("n"), te.size_var("m"), te.size_var("k")), 1),
    "rows": (lambda: ls.from_source(ROWS.replace("DTYPE", "float32")), 1),
    "softmax": (lambda: ls.from_source(schedules.SOFTMAX), 4),
}


@gpu_devices.both
@pytest.mark.parametrize("name", list(RULES))
def test_what_nobody_scheduled_is_bound_by_rule(target: str, name: str) -> None:
    make, kernels = RULES[name]
    gpu_devices.require(target)
    module = ls.build(make(), target=target)
    assert len(re.findall(r"__(kernel|global__) void", module.source(target))) == kernels
    if name.startswith("matmul"):
        a, b = RNG.random((50, 33), "float32"), RNG.random((33, 70), "float32")
        c = np.zeros((50, 70), "float32")
        module(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    elif name == "rows":
        a, c = RNG.random((30, 200), "float32"), np.zeros(30, "float32")
        module(a, c)
        np.testing.assert_allclose(c, a.sum(1), rtol=1e-5)
    else:
        a, c = RNG.random((32, 64), "float32"), np.zeros((32, 64), "float32")
        module(a, c)
        e = np.exp(a - a.max(1, keepdims=True))
        np.testing.assert_allclose(c, e / e.sum(1, keepdims=True), rtol=1e-5)


@gpu_devices.both
def test_what_has_to_go_in_order_does(target: str) -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((40,), "int32"), S: T.Buffer((40,), "int32")):
    for t in range(40):
        with T.block("S"):
            vt = T.axis.opaque(40, t)
            S[vt] = A[vt] + T.if_then_else(vt > 0, S[vt - 1], 0)
""")
    gpu_devices.require(target)
    a, s = RNG.integers(-9, 9, 40).astype("int32"), np.zeros(40, "int32")
    ls.build(func, target=target)(a, s)
    np.testing.assert_array_equal(s, a.cumsum())
