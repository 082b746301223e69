# SPDX-License-Identifier: Apache-2.0
"""The names ``I.*`` of scripts."""

from __future__ import annotations

from typing import Any

from .. import _core
from .decorators import ir_module

__script_space__ = "I"
__all__ = [
    "dummy_global_info",
    "ir_module",
    "module_attrs",
    "module_get_attr",
    "module_global_infos",
    "module_set_attr",
]

_words: dict[str, Any] = {word.name: word for word in _core.script_words("I")}
dummy_global_info = _words["dummy_global_info"]
module_attrs = _words["module_attrs"]
module_global_infos = _words["module_global_infos"]
module_get_attr = _words["module_get_attr"]
module_set_attr = _words["module_set_attr"]
