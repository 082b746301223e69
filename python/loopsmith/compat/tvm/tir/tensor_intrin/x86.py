# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.x86``: products of vectors on x86."""

from __future__ import annotations

from loopsmith import tir

from ....missing import other_names

AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"
VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"

# What they compute: 16 products of four 8-bit numbers each, added up.
_dot = tir.TensorIntrin.get(VNNI_DOT_16x4_INTRIN)
assert _dot is not None
dot_product_16x4_u8i8i32_desc = _dot.desc

__all__ = [
    "AVX512_DOT_16x4_INTRIN",
    "VNNI_DOT_16x4_INTRIN",
    "dot_product_16x4_u8i8i32_desc",
]
__getattr__ = other_names("tvm.tir.tensor_intrin.x86")
