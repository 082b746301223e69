# SPDX-License-Identifier: Apache-2.0
"""The nests of bench/loops on a device, by their default schedules: what is written."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import gpu_devices
import numpy as np
import pytest
from conftest import ROOT

import loopsmith as ls

sys.path.insert(0, str(ROOT / "bench" / "loops"))
KERNELS: dict[str, Any] = importlib.import_module("polybench").KERNELS
LOOPS: dict[str, Any] = importlib.import_module("tsvc").LOOPS
sys.path.pop(0)


def compare(nest: Any, sizes: dict[str, int] | None) -> None:
    """Expect that a device computes what the program as it is written does here."""
    gpu_devices.require("opencl")
    func = nest.func(sizes)
    expected, found = nest.arguments(sizes), nest.arguments(sizes)
    ls.build(func, default_schedule=False)(*expected)
    ls.build(func, target="opencl")(*found)
    for (name, dtype, _), one, other in zip(nest.shapes(sizes), expected, found, strict=True):
        tolerance = 1e-3 if dtype == "float32" else 1e-9
        assert np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True), name


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_compute_what_is_written(name: str) -> None:
    kernel = KERNELS[name]
    compare(kernel, {size: 7 + 3 * place for place, size in enumerate(kernel.sizes)})


@pytest.mark.parametrize("name", LOOPS)
def test_loops_compute_what_is_written(name: str) -> None:
    # What reads beyond these sizes keeps its own.
    sizes = None if name in ("s126", "s176") else {"LEN": 163, "HALF": 81, "L2": 17}
    compare(LOOPS[name], sizes)
