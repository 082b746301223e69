# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.rocm``: products of vectors on ROCm."""

from __future__ import annotations

from ....missing import other_names

AMDGPU_SDOT4_INTRIN = "sdot4"

__all__ = [
    "AMDGPU_SDOT4_INTRIN",
]
__getattr__ = other_names("tvm.tir.tensor_intrin.rocm")
