# SPDX-License-Identifier: Apache-2.0
"""The devices on which kernels are tested: OpenCL's first, CUDA's, or CUDA without a GPU."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

import loopsmith as ls

FOLDER = Path(__file__).parent / "cuda_on_cpu"
KERNEL_FLAGS = ["-std=c++17", "-O0", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing"]


@cache
def has_opencl() -> bool:
    """Whether a driver for OpenCL is there."""
    return ls.device("opencl").exists


def runs_on_gpu() -> bool:
    """Whether tests of CUDA use the driver, not what stands for it on the processor."""
    return bool(os.environ.get("LOOPSMITH_TEST_GPU"))


def driver_in(folder: str, *flags: str) -> str:
    """Compile the driver of tests/cuda_on_cpu, with more flags, and return the library."""
    library = f"{folder}/libcuda_on_cpu{len(flags)}.so"
    subprocess.run(
        [
            *("g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-o", library, *flags),
            f'-DCUDA_ON_CPU_HEADER="{folder}/kernels.h"',
            f'-DCUDA_ON_CPU_FLAGS="{" ".join(KERNEL_FLAGS)}"',
            *(str(FOLDER / "driver.cc"), "-ldl"),
        ],
        check=True,
    )
    return library


@cache
def has_cuda() -> bool:
    """Make CUDA's driver and compiler of tests/cuda_on_cpu known, where there is a C++ compiler.

    Where ``LOOPSMITH_TEST_GPU`` is set, tests run on the GPU.
    """
    if runs_on_gpu():
        return ls.device("cuda").exists
    if not shutil.which("g++"):
        return False
    folder = tempfile.mkdtemp(prefix="cuda_on_cpu_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for each in FOLDER.glob("*.h"):
        shutil.copy(each, folder)
    header = f"{folder}/kernels.h"
    # Each kernel includes the header: precompiled, it is half of the time of a kernel less.
    subprocess.run(
        ["g++", *KERNEL_FLAGS, "-w", "-x", "c++-header", "-o", f"{header}.gch", header], check=True
    )
    library = driver_in(folder)
    os.environ["CUDA_ON_CPU_FOLDER"] = folder
    # What its compiler makes is a file of this folder, which another process does not have.
    os.environ["LOOPSMITH_KERNEL_CACHE"] = ""
    os.environ["LOOPSMITH_CUDA"] = os.environ["LOOPSMITH_NVRTC"] = library
    return ls.device("cuda").exists


def require(target: str) -> None:
    """Skip the test where nothing runs code for the target."""
    if target.startswith("opencl") and not has_opencl():
        pytest.skip("no driver for OpenCL: install pocl-opencl-icd")
    if target.startswith("cuda") and not has_cuda():
        pytest.skip("no g++, which compiles CUDA for the processor")


def require_no_gpu() -> None:
    """Skip a test of what only the driver and compiler on the processor show."""
    if runs_on_gpu():
        pytest.skip("faults are shown by the driver on the processor")


both = pytest.mark.parametrize("target", ["opencl", "cuda"])
