# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin.cuda``: products of tiles on tensor cores."""

from __future__ import annotations

from loopsmith import tir

from ....missing import other_names

WMMA_SYNC_16x16x16_f16f16f16_INTRIN = "wmma_sync_16x16x16_f16f16f16"
WMMA_SYNC_16x16x16_f16f16f32_INTRIN = "wmma_sync_16x16x16_f16f16f32"

_LETTERS = {"float16": "f16", "float32": "f32", "int8": "s8", "int32": "s32"}


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """Return the names of those that start, load, multiply and store tiles of 16 x 16.

    Raises
    ------
    AssertionError
        There is none for these memories and types.
    """
    given, made = _LETTERS.get(in_dtype, in_dtype), _LETTERS.get(out_dtype, out_dtype)
    suffix = "_trans" if trans_b else ""
    load, store = load_scope.replace(".", "_"), store_scope.replace(".", "_")
    names = {
        "init": f"wmma_fill_16x16x16_{made}",
        "load_a": f"wmma_load_16x16x16_{given}_a_{load}",
        "load_b": f"wmma_load_16x16x16_{given}_b{suffix}_{load}",
        "compute": f"wmma_sync_16x16x16_{given}{given}{made}{suffix}",
        "store": f"wmma_store_16x16x16_{made}_{store}",
    }
    for name in names.values():
        assert tir.TensorIntrin.get(name, allow_missing=True) is not None, f"there is no {name}"
    return names


__all__ = [
    "WMMA_SYNC_16x16x16_f16f16f16_INTRIN",
    "WMMA_SYNC_16x16x16_f16f16f32_INTRIN",
    "get_wmma_intrin_group",
]
__getattr__ = other_names("tvm.tir.tensor_intrin.cuda")
