# SPDX-License-Identifier: Apache-2.0
"""Accesses to buffers."""

from __future__ import annotations

from typing import Any

import loopsmith.arith as arith
from loopsmith import UserError, tir


def offset_of(buffer: Any, indices: Any) -> list[Any]:
    if buffer.axis_separators:
        raise UserError("offset_of: the buffer has more than one physical axis")
    return [arith.Analyzer().simplify(_core_offset(buffer, list(indices)))]


def vload(buffer: Any, begin: Any, dtype: str | None = None, predicate: Any = None) -> Any:
    return tir.BufferLoad(buffer, _vector_indices(buffer, begin, dtype), predicate=predicate)


def vstore(buffer: Any, begin: Any, value: Any, predicate: Any = None) -> Any:
    stored = tir.const(value, buffer.dtype) if isinstance(value, (int, float)) else value
    indices = _vector_indices(buffer, begin, str(stored.dtype))
    return tir.BufferStore(buffer, stored, indices, predicate=predicate)


def _vector_indices(buffer: Any, begin: Any, dtype: str | None) -> list[Any]:
    indices = list(begin) if isinstance(begin, (list, tuple)) else [begin]
    lanes = _lanes_in(dtype or buffer.dtype) // _lanes_in(buffer.dtype)
    if lanes > 1:
        last = indices[-1]
        indices[-1] = tir.Ramp(last, tir.const(1, getattr(last, "dtype", "int32")), lanes)
    return indices


def _lanes_in(dtype: Any) -> int:
    _, _, lanes = str(dtype).rpartition("x")
    return int(lanes) if lanes.isdigit() and "x" in str(dtype) else 1


_core_elem_offset: Any = vars(tir.Buffer)["elem_offset"]


def elem_offset(buffer: Any) -> Any:
    """Return where the first element lies: 0 where nothing is said of it."""
    known = _core_elem_offset.__get__(buffer)
    return tir.const(0) if known is None else known


_core_offset = tir.Buffer.offset_of
_core_access_ptr = tir.Buffer.access_ptr


def access_ptr(
    buffer: Any,
    access_mask: Any,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: Any = 0,
    extent: Any = None,
) -> Any:
    if isinstance(access_mask, str):
        known = {"r": 1, "w": 2}
        for letter in access_mask:
            if letter not in known:
                raise ValueError(f"Unknown access_mask {access_mask}")
    if extent is None and len(buffer.strides) > 0:
        # All from the first element to where the outermost dimension ends.
        extent = buffer.strides[0] * buffer.shape[0] - offset
    return _core_access_ptr(buffer, access_mask, ptr_type, content_lanes, offset, extent)
