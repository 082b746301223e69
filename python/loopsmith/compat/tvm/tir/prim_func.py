# SPDX-License-Identifier: Apache-2.0
"""Functions and modules as each other."""

from __future__ import annotations

from typing import Any

from loopsmith import ir, tir

__all__ = ["as_module"]


def as_module(program: Any) -> tir.IRModule:
    """Return a function, a schedule or a module as a module."""
    if isinstance(program, tir.Schedule):
        return program.mod
    if isinstance(program, tir.PrimFunc):
        return ir.make_module({program.name: program})
    if not isinstance(program, tir.IRModule):
        raise TypeError(f"a {type(program).__name__} is no function, schedule or module")
    return program
