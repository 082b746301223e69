# SPDX-License-Identifier: Apache-2.0
"""The kernels of examples/gpu: each computes what NumPy does, wherever it runs."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from typing import Any

import gpu_devices
import numpy as np
import pytest
from conftest import ROOT

import loopsmith as ls

FOLDER = ROOT / "examples" / "gpu"
sys.path.insert(0, str(FOLDER))


def module_of(name: str) -> Any:
    """Return a module of these examples; other folders have some of the same names."""
    own = f"gpu_example_{name}"
    if own not in sys.modules:
        spec = importlib.util.spec_from_file_location(own, FOLDER / f"{name}.py")
        assert spec and spec.loader
        sys.modules[own] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[own])
    return sys.modules[own]


MODULES = sorted(
    path.stem for path in FOLDER.glob("*.py") if "EXAMPLES = [" in path.read_text("utf-8")
)
MAKERS = [
    pytest.param(make, id=f"{name}-{make.__name__}")
    for name in MODULES
    for make in module_of(name).EXAMPLES
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_interpreter_runs_it_before_and_after_lowering(make: Any) -> None:
    example = make()
    scheduled = isinstance(example.program, ls.tir.Schedule)
    programs = [example.program.func if scheduled else example.program]
    if scheduled:
        programs.append(ls.lower(example.program, target="opencl"))
    for program in programs:
        result = np.zeros(example.expected.shape, example.expected.dtype)
        ls.interp.run(program, *example.operands, result)
        example.check(result)


@gpu_devices.both
@pytest.mark.parametrize("make", MAKERS)
def test_devices_compute_what_numpy_does(make: Any, target: str) -> None:
    gpu_devices.require(target)
    example = make()
    on_devices = importlib.import_module("on_devices")
    result, _, _ = on_devices.run(example, target)
    example.check(result)


COMPILED = """
import importlib, sys
sys.path.insert(0, {folder!r})
import loopsmith as ls
for name in {modules!r}:
    for make in importlib.import_module(name).EXAMPLES:
        for arch in ("sm_80", "sm_90", "sm_120"):
            ptx = ls.build(make().program, target="cuda -arch=" + arch).source("ptx")
            assert ".entry" in ptx and ".target " + arch in ptx, make
            # Fragments, and what else is a thread's own, are registers.
            assert ".local" not in ptx, (name, make, arch)
"""


def test_the_compiler_of_cuda_takes_them() -> None:
    if importlib.util.find_spec("nvidia") is None:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc")
    hidden = ("LOOPSMITH_NVRTC", "LOOPSMITH_CUDA")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    source = COMPILED.format(folder=str(FOLDER), modules=MODULES)
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env=variables
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_an_example_prints_its_times(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = module_of(name)
    importlib.import_module("on_devices").main(module.EXAMPLES[:1])
    printed = capsys.readouterr().out
    assert module.EXAMPLES[0].__name__ in printed or "install pocl-opencl-icd" in printed


def test_attention_is_one_kernel_whose_warps_wait_alone() -> None:
    example = module_of("attention").one_kernel()
    source = ls.build(example.program, target="cuda -arch=sm_80").source("cuda")
    kernel = source.split("__global__")[1]
    assert source.count("__global__") == 1
    # Rows' maxima and sums go to the threads that share a row; keys and values to all warps.
    assert kernel.count("__syncwarp();") == 2 and kernel.count("__syncthreads();") == 3
    assert kernel.count("ls_mma_m16n8k16_fp16_fp32") == 4


def test_a_sum_over_blocks_is_refused() -> None:
    bound = module_of("bound_kernels")
    with pytest.raises(
        ls.ScheduleError, match=r"bind: results would change: loop .*outer"
    ) as caught:
        ls.lower(*bound.over_blocks())
    assert "rfactor" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kernels"), [("softmax", 1), ("attention", 1), ("prefix_sum", 5), ("box_blur", 1)]
)
def test_programs_without_a_schedule_on_a_gpu(name: str, kernels: int) -> None:
    example = getattr(module_of("by_rule"), name)()
    source = ls.build(example.program, target="opencl").source("opencl")
    assert source.count("__kernel void") == kernels


def test_a_missing_wait_of_a_warp_shows_on_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()
    monkeypatch.setenv("CUDA_ON_CPU_LEAVES_OUT", "__syncwarp();")
    example = module_of("attention").one_kernel()
    result, _, _ = importlib.import_module("on_devices").run(example, "cuda -arch=sm_80")
    with pytest.raises(AssertionError):
        example.check(result)
