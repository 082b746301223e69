# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.dot_product_common``: products of four 8-bit numbers on GPUs."""

from __future__ import annotations

from ....missing import other_names

DP4A_S8S8S32_INTRIN = "dp4a_s8s8s32"
DP4A_S8U8S32_INTRIN = "dp4a_s8u8s32"
DP4A_U8S8S32_INTRIN = "dp4a_u8s8s32"
DP4A_U8U8U32_INTRIN = "dp4a_u8u8u32"

__all__ = [
    "DP4A_S8S8S32_INTRIN",
    "DP4A_S8U8S32_INTRIN",
    "DP4A_U8S8S32_INTRIN",
    "DP4A_U8U8U32_INTRIN",
]
__getattr__ = other_names("tvm.tir.tensor_intrin.dot_product_common")
