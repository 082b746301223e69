# SPDX-License-Identifier: Apache-2.0
"""Functions that make expressions and buffers, with the parameters that `tvm` has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import tir

__all__ = ["call_pure_intrin", "const", "decl_buffer"]


def const(value: Any, dtype: str | None = None, span: Any = None) -> tir.Expr:
    """Return a constant; of the type of `value` where no other is said."""
    return tir.const(value) if dtype is None else tir.const(value, dtype)


def call_pure_intrin(dtype: str, func_name: str, *args: Any) -> tir.Expr:
    """Return a call of an intrinsic by its name."""
    return tir.call_intrin(dtype, func_name, *args)


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
    span: Any = None,
) -> tir.Buffer:
    """Return a new buffer; see `loopsmith.tir.decl_buffer`."""
    extents = list(shape) if isinstance(shape, (list, tuple)) else shape
    if not isinstance(extents, list) and not isinstance(extents, (int, tir.Expr)):
        extents = list(shape)
    if offset_factor and elem_offset is None:
        elem_offset = tir.var(f"{name}_elem_offset")
    return tir.decl_buffer(
        extents,
        dtype or "float32",
        name,
        data=data,
        strides=strides or (),
        elem_offset=elem_offset,
        scope=scope or "global",
        data_alignment=data_alignment,
        offset_factor=offset_factor,
        buffer_type=buffer_type,
        axis_separators=axis_separators or (),
    )
