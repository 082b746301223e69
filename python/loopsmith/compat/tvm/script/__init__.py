# SPDX-License-Identifier: Apache-2.0
"""``tvm.script``: functions and modules in the script language, of today and of 2021."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import loopsmith.script
from loopsmith.script.decorators import is_class_body, parse_definition

from ...missing import other_names
from ..ir_diagnostics import rendered
from . import ir, ir_builder, tir
from .words import words_of_2021

__all__ = [
    "asscript",
    "from_source",
    "ir",
    "ir_builder",
    "ir_module",
    "module",
    "parse",
    "parser",
    "s_tir",
    "tir",
    "tirx",
    "ty",
]

ty = tir
tirx = s_tir = tir
parser = sys.modules[__name__]
ir_module = ir.ir_module


def from_source(
    input_source: Any, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True
) -> Any:
    """Read a function or a module from its text, or from the function or class itself."""
    frame = sys._getframe(1)
    with rendered():
        if isinstance(input_source, str):
            return loopsmith.script.from_source(
                input_source, extra_vars, check_well_formed=check_well_formed
            )
        return parse_definition(
            input_source, frame, check_well_formed=check_well_formed, words=extra_vars
        )


parse = from_source


def module(definition: type) -> Any:
    """Read a class as a module, as programs of 2021 wrote it."""
    frame = sys._getframe(1)
    if is_class_body(frame):
        return definition
    return parse_definition(definition, frame, words=words_of_2021())


def asscript(node: Any, show_meta: bool = False) -> str:
    """Return a node in the script language, as programs of 2021 asked for it."""
    text: str = node.script()
    return text


__getattr__ = other_names("tvm.script")
