# SPDX-License-Identifier: Apache-2.0
"""Which dimensions an operator is about, and how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from ... import _core
from ..._core import Tensor

Axes = Union[int, Sequence[int], None]
Pair = Union[int, "tuple[int, int]"]


def positions(name: str, x: Tensor, axis: Axes) -> list[int]:
    """Return the dimensions that `axis` means, counted from 0; all of them for None."""
    rank = x.ndim
    chosen = range(rank) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    for each in chosen:
        if not -rank <= each < rank:
            _core.fail(
                "BoundsError",
                "axis_exists",
                f"{name}: there is no dimension {each}, {x.name} has {rank}",
                hint=f"count from 0 to {rank - 1}, or from -1 to {-rank} from the end",
            )
    return sorted({each % rank for each in chosen})


def pair(value: Pair) -> tuple[int, int]:
    """Return a number for each direction: one for both, or two."""
    return (value, value) if isinstance(value, int) else value


def require_same_extent(name: str, first: str, a: Any, second: str, b: Any) -> None:
    """Stop where two extents are known and differ."""
    if isinstance(a, _core.IntImm) and isinstance(b, _core.IntImm) and int(a) != int(b):
        _core.fail(
            "TypeMismatch",
            "extents_are_equal",
            f"{name}: {first} is {a}, and {second} is {b}",
            hint="give tensors whose extents agree",
        )


def product(extents: Any) -> Any:
    """Return how many elements dimensions have."""
    count: Any = 1
    for extent in extents:
        count = extent * count
    return count
