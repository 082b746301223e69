# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.x86``: products of vectors on x86."""

from __future__ import annotations

from ....missing import other_names

AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"
VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"

__all__ = [
    "AVX512_DOT_16x4_INTRIN",
    "VNNI_DOT_16x4_INTRIN",
]
__getattr__ = other_names("tvm.tir.tensor_intrin.x86")
