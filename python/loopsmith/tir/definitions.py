# SPDX-License-Identifier: Apache-2.0
"""Variables and buffers, made by name and type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._core import Buffer, PointerType, Var

if TYPE_CHECKING:
    from .._core import ExprLike

__all__ = ["decl_buffer", "size_var", "var"]


def var(name: str, dtype: str = "int32") -> Var:
    """Make a new variable."""
    return Var(name, dtype)


def size_var(name: str, dtype: str = "int32") -> Var:
    """Make a new variable for a size, which is never negative."""
    return Var(name, dtype, is_size=True)


def decl_buffer(
    shape: ExprLike | Sequence[ExprLike],
    dtype: str = "float32",
    name: str = "buffer",
    data: Var | None = None,
    strides: Sequence[ExprLike] = (),
    elem_offset: ExprLike | None = None,
    scope: str = "global",
    data_alignment: int = 64,
    offset_factor: int = 1,
    buffer_type: str = "",
    axis_separators: Sequence[int] = (),
) -> Buffer:
    """Make a new buffer.

    Parameters
    ----------
    shape
        The extent of each dimension.
    dtype
        The type of the elements.
    name
        Its name, also of its pointer.
    data
        The pointer that it is a view of; by default a new one.
    strides
        In elements, one for each dimension; by default compact and row-major, or for a
        `buffer_type` of "auto_broadcast" new variables.
    elem_offset
        Where element [0, ..., 0] lies, in elements. With an `offset_factor` of 2 or more, by
        default, a new variable.
    scope
        Where it lives: "global", "shared", "local", ...
    data_alignment
        Of the pointer, in bytes.
    offset_factor
        A number of which `elem_offset` is a multiple.
    buffer_type
        "auto_broadcast": a dimension of extent 1 is read with stride 0.
    axis_separators
        The dimensions that start a new axis when the buffer is flattened.
    """
    extents = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else [shape]
    if buffer_type == "auto_broadcast" and not strides:
        # With compact strides, an extent of 1 would be read beyond its one element.
        types = [str(getattr(extent, "dtype", "int32")) for extent in extents]
        strides = [Var(f"{name}_stride_{d}", dtype) for d, dtype in enumerate(types)]
    if elem_offset is None and offset_factor > 1:
        elem_offset = Var(f"{name}_elem_offset", "int32")
    return Buffer(
        data=Var(name, pointer=PointerType(dtype, scope)) if data is None else data,
        dtype=dtype,
        shape=extents,
        strides=strides,
        elem_offset=elem_offset,
        name=name,
        data_alignment=data_alignment if data_alignment > 0 else 64,
        offset_factor=offset_factor or 1,
        auto_broadcast=buffer_type == "auto_broadcast",
        axis_separators=axis_separators,
    )
