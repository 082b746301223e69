# SPDX-License-Identifier: Apache-2.0
"""The source of kernels: what it is, and that the compiler of CUDA takes it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_programs import bound_matmul

import loopsmith as ls

COMPILED = """
import sys
sys.path.insert(0, {tests!r})
import loopsmith as ls
from gpu_programs import bound_matmul
from test_gpu_dp4a import by_words
from test_gpu_kernels import vector_sums, with_pool
from test_gpu_reductions import by_warps
from test_gpu_rules import PROGRAMS
from test_gpu_tensor_core_rule import product, with_bias
from loopsmith import te
for arch in ("sm_80", "sm_90", "sm_120"):
    module = ls.build(bound_matmul(), target="cuda -arch=" + arch)
    ptx = module.source("ptx")
    assert ".target " + arch in ptx, ptx
    assert ".entry main_kernel(" in ptx
    assert ".maxntid 64" in ptx
    made = {{"shfl.sync.idx": by_warps("float16", 64), ".extern .shared": with_pool(40)}}
    made["ld.global.v4"] = made["st.global.v4"] = vector_sums("float32", 4)
    for instruction, sch in made.items():
        ptx = ls.build(sch, target="cuda -arch=" + arch).source("ptx")
        assert instruction in ptx.replace(".nc", ""), (instruction, ptx)
    for dtype, sum_ in (("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32")):
        for tensors in (product(256, 256, 256, dtype=dtype, sum_=sum_, right=True),
                        with_bias(product(256, 256, 256, dtype=dtype, sum_=sum_), sum_)):
            func = te.create_prim_func(tensors)
            ptx = ls.build(func, target="cuda -arch=" + arch).source("ptx")
            for instruction in ("mma.sync.aligned.m16n8k16", "ldmatrix", "cp.async.cg.shared",
                                "cp.async.wait_group"):
                assert instruction in ptx, (instruction, dtype)
            # Fragments are registers.
            assert ".local" not in ptx, dtype
    func = te.create_prim_func(product(256, 256, 256, dtype="float32"))
    ptx = ls.build(func, target="cuda -allow_tf32 -arch=" + arch).source("ptx")
    assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32" in ptx and "cvt.rna.tf32.f32" in ptx
    assert ".local" not in ptx
    ptx = ls.build(by_words("shared"), target="cuda -arch=" + arch).source("ptx")
    assert "dp4a.s32.s32" in ptx and "ld.shared.u8" not in ptx and ".local" not in ptx
    halves = with_bias(product(256, 256, 256), "float16")
    ptx = ls.build(te.create_prim_func(halves), target="cuda -arch=" + arch).source("ptx")
    assert "cvt.rn.f16.f32" in ptx
    scaled = te.compute((64,), lambda i: halves[0][i, 0] * te.const(2, "float16"))
    ptx = ls.build([halves[0], scaled], target="cuda -arch=" + arch).source("ptx")
    assert "cvt.f32.f16" in ptx and "cvt.rn.f16.f32" in ptx
    for name, program in PROGRAMS.items():
        func = te.create_prim_func(program.make(program.sizes[0]))
        assert ".entry" in ls.build(func, target="cuda -arch=" + arch).source("ptx"), name
for dtype in ("float16", "bfloat16"):
    for left, right in ((False, False), (False, True), (True, False), (True, True)):
        tensors = product(2048, 2048, 2048, dtype=dtype, left=left, right=right)
        module = ls.build(te.create_prim_func(tensors), target="cuda -arch=sm_90a")
        ptx = module.source("ptx")
        assert ".target sm_90a" in ptx and "wgmma.mma_async.sync.aligned.m64n256k16" in ptx
        assert "fence.proxy.async.shared::cta" in ptx and ".local" not in ptx
try:
    ls.build(bound_matmul(), target="cuda -arch=sm_10").source("ptx")
except ls.CallError as error:
    assert error.code == "driver_compiles_kernel", error
    assert "NVRTC does not compile the kernels for sm_10" in str(error)
else:
    raise AssertionError("sm_10 is taken")
"""


def test_the_compiler_of_cuda_takes_the_source() -> None:
    if importlib.util.find_spec("nvidia") is None:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc")
    hidden = ("LOOPSMITH_NVRTC", "LOOPSMITH_CUDA")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    source = COMPILED.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env=variables
    )
    assert done.returncode == 0, done.stderr


def test_a_compiler_that_is_not_there_is_named() -> None:
    source = "import loopsmith as ls, gpu_programs\n"
    source += "ls.build(gpu_programs.bound_matmul(), target='cuda').source('ptx')"
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "LOOPSMITH_NVRTC": "/nowhere/libnvrtc.so"},
    )
    there_is_one = done.returncode == 0
    assert there_is_one or "NVRTC, the compiler of CUDA cannot be opened:" in done.stderr
    if not there_is_one:
        assert "pip install nvidia-cuda-nvrtc" in done.stderr


def test_kernels_are_shown_beside_the_lines_that_they_are_of() -> None:
    shown = ls.build(bound_matmul(), target="opencl").inspect()
    assert "__kernel void main_kernel(" in shown.opencl
    assert 'T.thread_binding(8, thread="threadIdx.y")' in shown.ir
    assert "__global__ void" in ls.build(bound_matmul(), target="cuda").inspect().cuda


def test_kernels_are_no_library(tmp_path: Path) -> None:
    module = ls.build(bound_matmul(), target="opencl")
    with pytest.raises(ls.UserError, match="a library of target opencl would need") as caught:
        module.export(str(tmp_path / "matmul.so"))
    assert caught.value.code == "library_has_no_kernels"


def test_kernels_are_exported_as_source(tmp_path: Path) -> None:
    module = ls.build(bound_matmul(), target="opencl")
    module.export(str(tmp_path / "matmul.cl"))
    text = (tmp_path / "matmul.cl").read_text()
    assert "__kernel void matmul_kernel(" in text
    with pytest.raises(ls.UserError, match=r"a \.cu file cannot be made from target opencl"):
        module.export(str(tmp_path / "matmul.cu"))
    ls.build(bound_matmul(), target="cuda").export(str(tmp_path / "matmul.cu"))
    assert "__launch_bounds__(64)" in (tmp_path / "matmul.cu").read_text()
