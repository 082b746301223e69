# SPDX-License-Identifier: Apache-2.0
"""Random programs on devices: the interpreter, OpenCL and CUDA on a processor agree.

``LOOPSMITH_GPU_CASES`` and ``LOOPSMITH_GPU_SEED`` ask for more of them, from another seed.
"""

from __future__ import annotations

import os

import gpu_devices
import numpy as np
import pytest
from random_kernels import Case, random_case, random_product

import loopsmith as ls
from loopsmith import tir

CASES = int(os.environ.get("LOOPSMITH_GPU_CASES", "200"))
FIRST = int(os.environ.get("LOOPSMITH_GPU_SEED", "0"))
IN_MODULE = 20
"""How many functions a driver compiles at once."""


def module_of(cases: list[Case], target: str) -> ls.Module:
    functions = [case.schedule.func.with_attr("tir.is_scheduled", 1) for case in cases]
    names = [tir.GlobalVar(f"f{case.seed}") for case in cases]
    return ls.build(tir.IRModule(names=names, functions=functions), target=target)


def compare(cases: list[Case]) -> None:
    """Compare what lowered programs and devices compute with the interpreter's results."""
    targets = ["opencl", *(["cuda"] if gpu_devices.has_cuda() else [])]
    modules = {target: module_of(cases, target) for target in targets}
    for case in cases:
        expected = [array.copy() for array in case.arrays]
        ls.interp.run(case.plain, *expected)
        for target in ("opencl", "cuda"):  # Without and with warps.
            lowered = [array.copy() for array in case.arrays]
            ls.interp.run(ls.lower(case.schedule, target=target), *lowered)
            np.testing.assert_array_equal(lowered[-1], expected[-1], f"{target}, {case.text()}")
        for target, module in modules.items():
            got = [array.copy() for array in case.arrays]
            module[f"f{case.seed}"](*got)
            np.testing.assert_array_equal(got[-1], expected[-1], f"{target}, {case.text()}")


@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES, IN_MODULE))
def test_random_kernels_compute_what_the_interpreter_does(first: int) -> None:
    gpu_devices.require("opencl")
    seeds = range(first, min(first + IN_MODULE, FIRST + CASES))
    cases = [case for case in map(random_case, seeds) if case]
    assert len(cases) > len(seeds) // 2
    compare(cases)


@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES // 40, IN_MODULE))
def test_random_products_on_tensor_cores_compute_what_the_interpreter_does(first: int) -> None:
    gpu_devices.require("opencl")
    compare(
        [random_product(seed) for seed in range(first, min(first + IN_MODULE, FIRST + CASES // 40))]
    )
