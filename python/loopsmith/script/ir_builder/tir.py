# SPDX-License-Identifier: Apache-2.0
"""The words ``T.*`` for builders: those of scripts, and what a header of a function says there."""

from __future__ import annotations

from typing import Any

from ... import _core
from .. import tir as _words

__script_space__ = "T"
__all__ = ["arg", "axis", "func_name", "func_ret", "prim_func"]

axis = _words.axis


def prim_func(is_private: bool = False) -> _core.ScriptFrame:
    """Open a function; `is_private` gives it no name by which others may call it."""
    return _core.script_function_frame(is_private)


def func_name(name: str) -> None:
    """Name the function."""
    _core.script_function_name(name)


def func_ret(dtype: Any) -> None:
    """Say the type that the function returns."""
    _core.script_return_type(str(dtype))


def arg(name: str, obj: Any) -> Any:
    """Add a parameter: of the type of ``T.int32()`` or ``T.handle()``, or for a ``T.Buffer``."""
    return _core.script_argument(name, obj)


def __getattr__(name: str) -> Any:
    return getattr(_words, name)
