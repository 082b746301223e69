# SPDX-License-Identifier: Apache-2.0
"""The names ``T.*`` of scripts, made from the table in C++; ``tir.pyi`` shows them to editors."""

from __future__ import annotations

import itertools
from typing import Any

from .. import _core
from .decorators import macro, prim_func

__script_space__ = "T"

_elements = [
    *(f"{code}{bits}" for code in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bfloat16", "e4m3_float8", "e5m2_float8"),
]
_lanes = ["", "x2", "x4", "x8", "x16", "x32", "x64"]

type_names = [
    *("bool", "boolean", "handle", "void"),
    *(element + lanes for element, lanes in itertools.product(_elements, _lanes)),
]

for _name in type_names:
    globals()[_name] = _core.ScriptType(_name)
for _word in _core.script_words("T"):
    globals()[_word.name] = _word
axis = _core.ScriptSpace("T.axis")

__all__ = [
    "axis",
    "macro",
    "prim_func",
    *type_names,
    *(_word.name for _word in _core.script_words("T")),
]


def __getattr__(name: str) -> Any:
    """Refuse a word that is not there, with what to write."""
    from ..other_words import missing

    missing("T", name, {name: _core.script_hint(name)}, __all__)
