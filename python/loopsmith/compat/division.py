# SPDX-License-Identifier: Apache-2.0
"""``/`` of integers, as programs of the first generations mean it: rounded toward zero, as in C."""

from __future__ import annotations

from typing import Any

from .._core import Expr
from ..tir import truncdiv

_METHODS = ("__truediv__", "__rtruediv__")
_of_core: dict[str, Any] = {}


def _is_integer(x: Any) -> bool:
    if isinstance(x, Expr):
        return str(x.dtype).startswith(("int", "uint"))
    return isinstance(x, int)


def _divided(a: Any, b: Any) -> Any:
    if _is_integer(a) and _is_integer(b):
        return truncdiv(a, b)
    return _of_core["__truediv__"](a, b)


def _divides(b: Any, a: Any) -> Any:
    if _is_integer(a) and _is_integer(b):
        return truncdiv(a, b)
    return _of_core["__rtruediv__"](b, a)


def install() -> None:
    """Let expressions divide so, in this process."""
    for name, method in zip(_METHODS, (_divided, _divides)):
        _of_core[name] = getattr(Expr, name)
        setattr(Expr, name, method)


def uninstall() -> None:
    """Let them divide as this package does."""
    for name in _METHODS:
        setattr(Expr, name, _of_core[name])
