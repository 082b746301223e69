# SPDX-License-Identifier: Apache-2.0
"""Functions that compute: arithmetic, mathematics, bits, choices."""

from __future__ import annotations

from .._core import (
    abs,
    all,
    any,
    broadcast,
    cast,
    ceildiv,
    const,
    div,
    floordiv,
    floormod,
    if_then_else,
    infinity,
    likely,
    max,
    max_value,
    min,
    min_value,
    reinterpret,
    select,
    truncdiv,
    truncmod,
)

__all__ = [
    "abs",
    "all",
    "any",
    "broadcast",
    "cast",
    "ceildiv",
    "const",
    "div",
    "floordiv",
    "floormod",
    "if_then_else",
    "infinity",
    "likely",
    "max",
    "max_value",
    "min",
    "min_value",
    "reinterpret",
    "select",
    "truncdiv",
    "truncmod",
]
