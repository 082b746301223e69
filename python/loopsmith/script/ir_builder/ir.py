# SPDX-License-Identifier: Apache-2.0
"""The words ``I.*`` for builders."""

from __future__ import annotations

from typing import Any

from ... import _core
from .. import ir as _words

__script_space__ = "I"
__all__ = ["decl_function", "def_function", "ir_module"]


def ir_module() -> _core.ScriptFrame:
    """Open a module, in which functions are built."""
    return _core.script_module_frame()


def decl_function(func_name: str, func_signature: _core.PrimFunc) -> _core.GlobalVar:
    """Name a function that is defined later in the module, and return its name, to be called.

    Its parameters and its result are those of `func_signature`, whose body is not looked at.
    """
    return _core.script_declare_function(func_name, func_signature)


def def_function(func_name: str, func: _core.PrimFunc) -> None:
    """Give the module a function by that name, declared or not."""
    _core.script_define_function(func_name, func)


def __getattr__(name: str) -> Any:
    return getattr(_words, name)
