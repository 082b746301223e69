# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.hexagon``: products of vectors on Hexagon."""

from __future__ import annotations

from ....missing import other_names

VDMPY_i16i16i32_INTRIN = "dot_product_2x64_vdmpy"
VRMPY_u8i8i32_INTRIN = "dot_32x4_u8i8i32_vrmpy"
VRMPY_u8i8i32_VTCM_INTRIN = "dot_32x4_u8i8i32_vtcm_vrmpy"
VRMPY_u8u8i32_INTRIN = "dot_32x4_u8u8i32_vrmpy"

__all__ = [
    "VDMPY_i16i16i32_INTRIN",
    "VRMPY_u8i8i32_INTRIN",
    "VRMPY_u8i8i32_VTCM_INTRIN",
    "VRMPY_u8u8i32_INTRIN",
]
__getattr__ = other_names("tvm.tir.tensor_intrin.hexagon")
