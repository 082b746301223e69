# SPDX-License-Identifier: Apache-2.0
"""Operators that are loops: scripts, and the tensors that they make."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..._core import PrimFunc, Tensor
from ..external import extern_primfunc
from ..operations import compute
from .dimensions import product


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> PrimFunc:
    """Return the function that a script says."""
    from ...script import from_source

    function: PrimFunc = from_source(text)
    return function


def made_by(text: str, inputs: Sequence[Tensor], name: str) -> Tensor:
    """Return the tensor that a script makes, whose last parameter it is."""
    tensor: Tensor = extern_primfunc(inputs, parsed(text), name=name)
    return tensor


def as_rows(x: Tensor, place: int) -> Tensor:
    """Return `x` as [what is before a dimension, that dimension, what is after it]."""
    before, after = list(x.shape[:place]), list(x.shape[place + 1 :])

    def element(row: Any, i: Any, column: Any) -> Any:
        return x[(*_split(row, before), i, *_split(column, after))]

    shape = (product(before), x.shape[place], product(after))
    return compute(shape, element, name=f"{x.name}_rows")


def from_rows(
    shape: Sequence[Any], place: int, value: Callable[[Any, Any, Any], Any], name: str
) -> Tensor:
    """Return the tensor of a shape whose elements are those of `as_rows`: `value` gives them."""

    def element(*indices: Any) -> Any:
        row = _joined(indices[:place], shape[:place])
        column = _joined(indices[place + 1 :], shape[place + 1 :])
        return value(row, indices[place], column)

    return compute(shape, element, name=name)


def _split(flat: Any, extents: Sequence[Any]) -> list[Any]:
    """Return the indices of the element `flat` of dimensions, the last one of which is fastest."""
    indices: list[Any] = []
    for number, extent in enumerate(reversed(extents), 1):
        indices.insert(0, flat if number == len(extents) else flat % extent)
        flat = flat // extent
    return indices


def _joined(indices: Sequence[Any], extents: Sequence[Any]) -> Any:
    flat: Any = 0
    for index, extent in zip(indices, extents):
        flat = flat * extent + index
    return flat
