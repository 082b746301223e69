# SPDX-License-Identifier: Apache-2.0
"""Devices, their arrays and their errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gpu_devices
import numpy as np
import pytest
from gpu_programs import RNG, ROWS, bound_matmul, script

import loopsmith as ls
from loopsmith import te, tir


@gpu_devices.both
def test_arrays_live_on_the_device(target: str) -> None:
    gpu_devices.require(target)
    sch = script(ROWS.replace("DTYPE", "float32"))
    i, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    module = ls.build(sch, target=target)
    device = ls.device(target, 0)
    assert device.exists and device.name and device.max_threads_per_block >= 64
    assert device.arch.startswith("sm_") == (target == "cuda")
    host = RNG.random((30, 200), "float32")
    a, c = ls.array(host, device=device), ls.empty(30, "float32", device=f"{target}:0")
    assert a.device == c.device == f"{target}:0"
    module(a, c)
    np.testing.assert_allclose(c.numpy(), host.sum(1), rtol=1e-5)
    np.testing.assert_array_equal(a.to(None).numpy(), host)
    device.sync()
    assert module.time(a, c).min > 0
    with pytest.raises(ls.CallError, match=r"C\.shape\[0\] is 31, not 30"):
        module(a, ls.empty(31, device=device))


def test_a_grid_that_is_too_large_at_run_time_is_refused() -> None:
    gpu_devices.require("cuda")
    n = te.size_var("n")
    x = te.placeholder((n,), "int8", name="X")
    sch = tir.Schedule(te.create_prim_func([x, te.compute((n,), lambda i: x[i], name="Y")]))
    sch.bind(sch.get_loops("Y")[0], "blockIdx.y")
    module = ls.build(sch, target="cuda")
    with pytest.raises(ls.CallError) as caught:
        module(np.zeros(70000, "int8"), np.zeros(70000, "int8"))
    assert caught.value.code == "launch_fits_device"
    assert "kernel main_kernel is launched with grid (1, 70000, 1) of blocks (1, 1, 1)" in str(
        caught.value
    )


def test_a_launch_that_the_driver_refuses_is_named() -> None:
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()
    module = ls.build(bound_matmul(tile=32), target="cuda")
    a, b, c = np.zeros((3, 64, 64), "float32")
    with pytest.raises(ls.CallError) as caught:
        module(a, b, c)
    assert caught.value.code == "kernel_is_launched"
    assert (
        "cuda: kernel main_kernel is not launched with grid (2, 2, 1) of blocks (32, 32, 1): too "
        "many resources" in str(caught.value)
    )


FAULT = """
import os, sys
sys.path.insert(0, {tests!r})
import gpu_devices, numpy as np
from gpu_programs import bound_matmul
import loopsmith as ls
assert gpu_devices.has_cuda()
module = ls.build(bound_matmul(), target="cuda")
device = ls.device("cuda")
arrays = [ls.array(np.ones((64, 64), "float32"), device=device) for _ in range(3)]
os.environ["CUDA_ON_CPU_FAULTS"] = "1"
module(*arrays)
again = [lambda: module(*arrays), lambda: ls.empty(4, device=device)]
for what in (device.sync, arrays[2].numpy, *again):
    try:
        what()
    except ls.CallError as error:
        print(error.code, error)
"""


def test_a_kernel_that_faults_is_named_and_the_process_goes_on() -> None:
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()
    source = FAULT.format(tests=str(Path(__file__).parent))
    told = subprocess.run(
        [sys.executable, "-c", source], check=True, capture_output=True, text=True
    ).stdout
    assert (
        told.count("kernel_has_no_fault cuda: kernel main_kernel, launched with grid (8, 8, 1)")
        == 4
    )
    assert "or one before it has faulted: an illegal memory access was encountered" in told
    assert "what is on the device is lost, start the process again" in told


def test_a_device_that_is_not_there_is_named() -> None:
    gpu_devices.require("opencl")
    with pytest.raises(ls.CallError, match="opencl: there is no device 99"):
        ls.empty(3, device="opencl:99")
    with pytest.raises(ls.CallError, match="device: there is no kind 'metal'") as caught:
        ls.device("metal")
    assert caught.value.code == "device_kind_is_known"
    for mistake in ("opencl:x", 3):
        with pytest.raises(ls.TypeMismatch, match=r"array: the device is .*, no device") as wrong:
            ls.empty(3, device=mistake)  # type: ignore[arg-type]
        assert wrong.value.code == "device_is_known"
    with pytest.raises(ls.CallError, match="opencl: no memory of 35184372088832 bytes") as large:
        ls.empty(1 << 43, device="opencl")
    assert large.value.code == "device_has_memory"
    gaps = ls.from_dlpack(np.zeros((4, 4), "float32")[:, ::2])
    with pytest.raises(ls.CallError) as no_copy:
        gaps.to("opencl")
    assert no_copy.value.code == "array_is_compact"
    assert not ls.device("opencl", 99).exists


NO_DRIVER = """
import numpy as np
import loopsmith as ls
from loopsmith import te
x = te.placeholder((64,), name="X")
module = ls.build([x, te.compute((64,), lambda i: x[i] + 1.0, name="Y")], target="cuda")
assert not ls.device("cuda").exists
a = np.zeros(64, "float32")
for what in (
    lambda: module(a, a.copy()),
    lambda: ls.empty(3, device="cuda"),
    lambda: module.source("ptx"),
):
    try:
        what()
    except ls.CallError as error:
        print(error.code, error)
"""


def test_a_driver_and_a_compiler_that_are_not_there_are_named() -> None:
    # Libraries, but others.
    hidden = {"LOOPSMITH_CUDA": "libm.so.6", "LOOPSMITH_NVRTC": "libm.so.6"}
    told = subprocess.run(
        [sys.executable, "-c", NO_DRIVER],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **hidden},
    ).stdout
    assert told.count("driver_has_function the CUDA driver has no function cuInit") == 2
    assert told.count("install NVIDIA's driver on a machine with one of its GPUs") == 2
    assert (
        "driver_has_function NVRTC, the compiler of CUDA has no function nvrtcCreateProgram" in told
    )
    assert "pip install nvidia-cuda-nvrtc, or name the library in LOOPSMITH_NVRTC" in told


def test_a_stream_of_the_caller_is_used_inside_of_its_scope() -> None:
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()  # Where 4096 is no stream.
    device = ls.device("cuda")
    module = ls.build(bound_matmul(), target="cuda")
    a, b = RNG.random((2, 64, 64), "float32")
    arrays = [ls.array(x, device=device) for x in (a, b)]
    c = ls.empty((64, 64), device=device)
    with device.stream(4096):
        assert c.__cuda_array_interface__["stream"] == 4096
        module(*arrays, c)
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)
    assert c.__cuda_array_interface__["stream"] == 1
    no_stream = ls.device("opencl").stream(1)
    with pytest.raises(ls.CallError, match="device opencl:0 has no streams") as caught, no_stream:
        pass
    assert caught.value.code == "device_has_streams"


def test_a_target_takes_the_architecture_of_the_gpu() -> None:
    gpu_devices.require("cuda")
    target = ls.Target("cuda -arch=native")
    assert str(target) == f"cuda -arch={ls.device('cuda').arch}"
    assert ls.Target("cuda").options == {}
    x = te.placeholder((64,), name="X")
    y = te.compute((64,), lambda i: x[i] + 1.0, name="Y")
    a, b = RNG.random(64, "float32"), np.zeros(64, "float32")
    ls.build([x, y], target="cuda -arch=native")(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_no_gpu_has_no_architecture_to_take() -> None:
    program = """
import loopsmith as ls
try:
    print(ls.Target("cuda -arch=native"))
except ls.CallError as error:
    print(error.code, error)
"""
    # Neither a driver by this name, nor a GPU where the system has one.
    hidden = {"LOOPSMITH_CUDA": "/nowhere/libcuda.so", "CUDA_VISIBLE_DEVICES": ""}
    told = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **hidden},
    ).stdout
    assert told.startswith("native_device_exists target cuda -arch=native: there is no GPU with")
    assert "name an architecture, as in cuda -arch=sm_90a" in told


def test_arrays_of_cuda_are_lent_to_others_without_a_copy() -> None:
    gpu_devices.require("cuda")
    array = ls.array(np.arange(6, dtype="int16").reshape(2, 3), device="cuda")
    lent = array.__cuda_array_interface__
    assert (lent["shape"], lent["typestr"], lent["strides"]) == ((2, 3), "<i2", (6, 2))
    assert lent["data"][0] != 0 and lent["version"] == 3
    assert not hasattr(ls.empty(3), "__cuda_array_interface__")
    kind_of_cuda = 2
    assert array.__dlpack_device__() == (kind_of_cuda, 0)
    again = ls.from_dlpack(array)
    assert again.device == "cuda:0"
    assert again.__cuda_array_interface__["data"][0] == lent["data"][0]
    # A call takes it where it is.
    double = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((2, 3), "int16"), B: T.Buffer((2, 3), "int16")):
    for i, j in T.grid(2, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.int16(2)
""")
    result = ls.empty((2, 3), "int16", device="cuda")
    ls.build(double, target="cuda")(again, result)
    np.testing.assert_array_equal(result.numpy(), [[0, 2, 4], [6, 8, 10]])


def test_an_array_on_another_device_is_refused() -> None:
    gpu_devices.require("cuda")
    gpu_devices.require("opencl")
    module = ls.build(bound_matmul(), target="cuda")
    a = ls.empty((64, 64), device="opencl")
    with pytest.raises(ls.CallError) as caught:
        module(a, np.zeros((64, 64), "float32"), np.zeros((64, 64), "float32"))
    assert "opencl" in str(caught.value)


def test_compiled_kernels_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_devices.require("cuda")
    monkeypatch.setenv("LOOPSMITH_KERNEL_CACHE", str(tmp_path / "kernels"))
    a, b = RNG.random((2, 64, 64), "float32")
    for _ in range(2):
        c = np.zeros((64, 64), "float32")
        ls.build(bound_matmul(), target="cuda")(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        assert len(list((tmp_path / "kernels").iterdir())) == 1
    ls.build(bound_matmul(tile=4), target="cuda")(a, b, c)
    assert len(list((tmp_path / "kernels").iterdir())) == 2
