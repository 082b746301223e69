# SPDX-License-Identifier: Apache-2.0
"""Symbolic sizes: ranges of them, and those that arguments have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

from ..._core import PrimFunc, SizeRange, Var

SizeSpec = Union[int, SizeRange, Mapping[int, float]]
"""A size, a range of sizes, or sizes with their weights."""


def is_ranged(sizes: Mapping[str, SizeSpec] | None) -> bool:
    """Whether a size is more than one number."""
    return any(not isinstance(spec, int) for spec in (sizes or {}).values())


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return what a line says of sizes: ``m=64, n=2``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def sizes_of(func: PrimFunc, arguments: Sequence[Any]) -> dict[str, int]:
    """Return the symbolic sizes, and the whole numbers, that arguments have, by name."""
    found: dict[str, int] = {}
    for param, argument in zip(func.params, arguments):
        buffer = func.buffer_map.get(param)
        extents: Sequence[Any] = [param] if buffer is None else buffer.shape
        values = [argument] if buffer is None else getattr(argument, "shape", ())
        for extent, value in zip(extents, values):
            if isinstance(extent, Var) and "int" in extent.dtype:
                found.setdefault(extent.name, int(value))
    return found
