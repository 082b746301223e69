# SPDX-License-Identifier: Apache-2.0
"""The words ``I.*`` for builders."""

from __future__ import annotations

from typing import Any

from ... import _core
from .. import ir as _words

__script_space__ = "I"
__all__ = ["ir_module"]


def ir_module() -> _core.ScriptFrame:
    """Open a module, in which functions are built."""
    return _core.script_module_frame()


def __getattr__(name: str) -> Any:
    return getattr(_words, name)
