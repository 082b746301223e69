# SPDX-License-Identifier: Apache-2.0
"""A function of loops over tensors as Python runs it, on arrays of NumPy."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["run"]


def _zeros(shape: Any, dtype: str = "float32", scope: str = "global") -> Any:
    return np.zeros(shape, dtype)


def _erf(x: Any) -> Any:
    from math import erf

    return np.float32(erf(x))


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64") + (
    "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip

_WORDS: dict[str, Any] = {
    "output_tensor": _zeros,
    "allocate": _zeros,
    **dict.fromkeys(("serial", "parallel", "vectorize", "unroll", "const_range"), range),
    "bind": lambda tag, extent: range(extent),
    "likely": lambda condition: condition,
    "div": _truncated,
    "ceil_div": lambda a, b: -(-a // b),
    "power": np.power,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "popcount": lambda x: bin(int(x) & (2 ** (8 * np.asarray(x).itemsize) - 1)).count("1"),
    "erf": _erf,
    **{name: getattr(np, name) for name in (
        "ceil", "exp", "floor", "log", "log10", "log2", "round", "sqrt", "tanh", "trunc",
    )},
    **{name: getattr(np, name) for name in _TYPES},
}  # fmt: skip
"""What such functions may say, beside what they and Python define."""


def run(func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return what the function gives for arrays and numbers."""
    names = {**_WORDS, **func.__globals__}
    known = types.FunctionType(func.__code__, names, func.__name__, None, func.__closure__)
    return known(*args)
