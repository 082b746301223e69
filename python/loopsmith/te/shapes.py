# SPDX-License-Identifier: Apache-2.0
"""Variables, and shapes as users write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Var
from ..dtypes import name_of

Shape = Any
"""A size, or a sequence of sizes: ints and integer expressions."""


def var(name: str = "tindex", dtype: Any = "int32") -> Var:
    """Return a new scalar variable."""
    return _core.te_var(name, name_of("var", dtype))


def size_var(name: str = "size", dtype: Any = "int32") -> Var:
    """Return a new scalar variable that is known not to be negative."""
    return _core.te_size_var(name, name_of("size_var", dtype))


def _size(extent: Any) -> Any:
    """A whole float is taken as the int that it is."""
    is_number = not isinstance(extent, float) or extent.is_integer()
    if extent is None or isinstance(extent, (str, bytes)) or not is_number:
        _core.fail(
            "TypeMismatch",
            "shape_is_integer",
            f"the shape has the extent {extent}, which is not a whole number",
            hint="give sizes as ints",
        )
    return int(extent) if isinstance(extent, float) else extent


def sizes_of(shape: Shape) -> list[Any]:
    """Return the sizes of a shape as a list."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        shape = (shape,)
    return [_size(extent) for extent in shape]
