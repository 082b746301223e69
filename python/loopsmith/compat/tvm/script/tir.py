# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.tir``: the words of scripts; and called, the decorator of 2021."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

import loopsmith.script.tir
import loopsmith.tir
from loopsmith.script.decorators import is_class_body, parse_definition
from loopsmith.script.tir import *

from ...missing import other_names
from ..returned import returning
from .words import words_of_2021

__script_space__ = "T"

# Words as later generations call them.
sblock = loopsmith.script.tir.__dict__["block"]
sblock_attr = loopsmith.script.tir.__dict__["block_attr"]
sblock_alloc_buffer = loopsmith.script.tir.__dict__["alloc_buffer"]

__all__ = [
    *loopsmith.script.tir.__dict__["__all__"],
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
]


def _handle(
    dtype: Any = None, storage_scope: str = "global", *, is_size_var: builtins.bool = False
) -> Any:
    """Return a new variable for a pointer; in a script, the word means its type."""
    from ..tir.nodes import Var

    del is_size_var  # No pointer is a size.
    if dtype is None:
        return Var.make("", "handle")
    return Var.make("", loopsmith.tir.PointerType(str(dtype), storage_scope))


def _prim_func(
    func: Any = None,
    /,
    *,
    private: builtins.bool = False,
    check_well_formed: builtins.bool = True,
    s_tir: builtins.bool = True,
) -> Any:
    """Make a function of a script; with blocks or without is no difference here (`s_tir`)."""
    frame = sys._getframe(1)

    def read(function: Any) -> Any:
        if is_class_body(frame):
            return function
        return returning(parse_definition(function, frame, private, True, check_well_formed))

    return read if func is None else read(func)


# With the option that later generations have, in place of the word of that name.
globals()["prim_func"] = _prim_func
globals()["handle"] = _handle


class _Decorator(types.ModuleType):
    """A module that reads a function when it is called: ``@tvm.script.tir``."""

    def __call__(self, func: Any) -> Any:
        frame = sys._getframe(1)
        if is_class_body(frame):
            return func
        return parse_definition(func, frame, words=words_of_2021())


sys.modules[__name__].__class__ = _Decorator
__getattr__ = other_names("tvm.script.tir")
