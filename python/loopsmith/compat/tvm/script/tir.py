# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.tir``: the words of scripts; and called, the decorator of 2021."""

from __future__ import annotations

import sys
import types
from typing import Any

import loopsmith.script.tir
from loopsmith.script.decorators import is_class_body, parse_definition
from loopsmith.script.tir import *

from ...missing import other_names
from .words import words_of_2021

__script_space__ = "T"
__all__ = [*loopsmith.script.tir.__dict__["__all__"]]


class _Decorator(types.ModuleType):
    """A module that reads a function when it is called: ``@tvm.script.tir``."""

    def __call__(self, func: Any) -> Any:
        frame = sys._getframe(1)
        if is_class_body(frame):
            return func
        return parse_definition(func, frame, words=words_of_2021())


sys.modules[__name__].__class__ = _Decorator
__getattr__ = other_names("tvm.script.tir")
