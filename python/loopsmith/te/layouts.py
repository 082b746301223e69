# SPDX-License-Identifier: Apache-2.0
"""Where the elements of tensors lie."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import arith
from .._core import IndexMap

AXIS_SEPARATOR = "axis_separator"
"""Among the indices that a layout gives: there, another axis of the flattened buffer starts."""


def separated_map(
    function: Callable[..., Any],
    ndim: int | None = None,
    inverse_index_map: IndexMap | Callable[..., Any] | None = None,
    *,
    index_dtype: str = "int64",
) -> tuple[IndexMap, list[int]]:
    """Return the map that a function computes, and which of its indices start another axis.

    The parameters are those of ``arith.index_map``; the function may give ``AXIS_SEPARATOR`` among
    its indices.
    """
    separators: list[int] = []

    @functools.wraps(function)
    def indices_alone(*args: Any, **kwargs: Any) -> list[Any]:
        given = function(*args, **kwargs)
        indices: list[Any] = []
        for index in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(index, str) and index == AXIS_SEPARATOR:
                separators.append(len(indices))
            else:
                indices.append(index)
        return indices

    made = arith.index_map(indices_alone, ndim, inverse_index_map, index_dtype=index_dtype)
    return made, separators
