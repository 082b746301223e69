# SPDX-License-Identifier: Apache-2.0
"""Marks of tests: what a test needs that may not be here."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable
from typing import Any

__all__: list[str] = ["Feature", "requires_package"]


class Feature:
    """Something that a test may need. Called with a test, it marks it; without, it is the mark."""

    def __init__(self, what: str, is_there: bool) -> None:
        self.what, self.is_there = what, is_there

    def marks(self) -> list[Any]:
        """Return the marks of pytest."""
        import pytest

        reason = f"there is no {self.what} here"
        return [] if self.is_there else [pytest.mark.skipif(True, reason=reason)]

    def __call__(self, *functions: Any) -> Any:
        """Mark a function; without one, return what marks it, or the marks of old programs."""
        if not functions:
            return self.marks()
        marked = functions[0]
        for mark in self.marks():
            marked = mark(marked)
        return marked


def _asked_with_a_version(what: str) -> Callable[..., Any]:
    def requires(*_: Any, **__: Any) -> Feature:
        return Feature(what, False)

    return requires


def requires_package(*packages: str) -> Feature:
    """Return the mark of tests that import packages."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return Feature(f"package {', '.join(missing)}", not missing)


_machine = platform.machine()
_THERE = {
    "requires_llvm": "LLVM",
    "uses_gpu": "GPU",
    "skip_if_32bit": "64-bit processor",
    "slow": "time for slow tests",
    "requires_cpu": "processor",
}
_MISSING = {
    "requires_gpu": "GPU",
    "requires_cuda": "CUDA",
    "requires_cudnn": "cuDNN",
    "requires_cublas": "cuBLAS",
    "requires_cudagraph": "CUDA",
    "requires_tensorcore": "tensor core",
    "requires_nvptx": "NVPTX",
    "requires_ampere": "Ampere GPU",
    "requires_opencl": "OpenCL",
    "requires_opencl_vulkan": "OpenCL",
    "requires_adreno_opencl": "OpenCL",
    "requires_adreno_opencl_vulkan": "OpenCL",
    "requires_adreno_vulkan": "Vulkan",
    "requires_vulkan": "Vulkan",
    "requires_metal": "Metal",
    "requires_mps": "Metal",
    "requires_rocm": "ROCm",
    "requires_miopen": "ROCm",
    "requires_rocblas": "ROCm",
    "requires_hipblas": "ROCm",
    "requires_matrixcore": "ROCm",
    "requires_aarch64_sve": "SVE",
    "requires_aarch64_sme": "SME",
    "requires_arm_dot": "Arm dot product",
    "requires_micro": "microcontroller",
    "requires_corstone300": "microcontroller",
    "requires_hexagon": "Hexagon",
    "requires_hexagon_toolchain": "Hexagon",
    "requires_rpc": "RPC",
    "requires_ethosn": "Ethos-N",
    "requires_ethosu": "Ethos-U",
    "requires_libtorch": "libtorch",
    "requires_vitis_ai": "Vitis AI",
    "requires_wasm": "WebAssembly",
    "requires_cmsisnn": "CMSIS-NN",
    "requires_mrvl": "accelerator",
    "requires_openclml": "OpenCL ML",
    "requires_webgpu": "WebGPU",
    "requires_skylake_avx512": "AVX-512 of its names",
    "requires_x86_avx512": "AVX-512 of its names",
    "requires_x86_vnni": "VNNI of its names",
    "requires_cascadelake": "VNNI of its names",
    "requires_x86_amx": "AMX",
    "requires_avx512_vnni": "VNNI of its names",
}
_VERSIONED = {
    "requires_cuda_compute_version": "CUDA",
    "requires_nvcc_version": "CUDA",
    "requires_llvm_minimum_version": "such LLVM",
}

for _name, _what in _THERE.items():
    globals()[_name] = Feature(_what, True)
for _name, _what in _MISSING.items():
    globals()[_name] = Feature(_what, False)
for _name, _what in _VERSIONED.items():
    globals()[_name] = _asked_with_a_version(_what)
requires_x86 = Feature("x86 processor", _machine in ("x86_64", "AMD64"))
requires_aarch64 = Feature("Arm processor", _machine in ("aarch64", "arm64"))

__all__ += [*_THERE, *_MISSING, *_VERSIONED, "requires_aarch64", "requires_x86"]
