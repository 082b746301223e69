# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.cuda``: products of tiles on tensor cores."""

from __future__ import annotations

from ....missing import other_names

WMMA_SYNC_16x16x16_f16f16f16_INTRIN = "wmma_sync_16x16x16_f16f16f16"
WMMA_SYNC_16x16x16_f16f16f32_INTRIN = "wmma_sync_16x16x16_f16f16f32"

__all__ = ["WMMA_SYNC_16x16x16_f16f16f16_INTRIN", "WMMA_SYNC_16x16x16_f16f16f32_INTRIN"]
__getattr__ = other_names("tvm.tir.tensor_intrin.cuda")
