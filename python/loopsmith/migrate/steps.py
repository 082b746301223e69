# SPDX-License-Identifier: Apache-2.0
"""A schedule of tensor expressions as statements that make the same schedule of TensorIR."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import te
from .._core import PrimFunc, Schedule, TeSchedule
from ..errors import UserError
from ..ir import structural_equal


class CannotWrite(Exception):
    """Why a schedule has no text."""


class Written(NamedTuple):
    """The text of a schedule."""

    start: str | None
    """The function that it starts from, as a script; None: `create_prim_func` of the arguments."""
    intrinsics: tuple[tuple[str, str, str], ...]
    """The tensor intrinsics of the program's own: names, descriptions, implementations."""
    lines: tuple[str, ...]
    """The steps, on a schedule ``sch``."""


def written(schedule: TeSchedule, args: Sequence[Any] | None, binds: Mapping[Any, Any]) -> Written:
    """Return the text of a schedule.

    Raises
    ------
    UserError
        The schedule is refused.
    CannotWrite
        It has no text.
    """
    sch = schedule.to_tir(args, dict(binds))
    history = sch.history()
    first = history[0].before if history else sch.mod
    before = first if isinstance(first, PrimFunc) else first["main"]
    start = None if _is_function_of(before, args) else before.script()
    lines = tuple(sch.trace.as_python())
    intrinsics = tuple(_own_intrinsics(sch))
    result = Written(start, intrinsics, lines)
    if any("from_json" in line for line in lines):
        raise CannotWrite("it has a value that Python has no text for")
    return result


def _is_function_of(before: PrimFunc, args: Sequence[Any] | None) -> bool:
    """Whether `create_prim_func` of the arguments gives the function."""
    if args is None:
        return False
    try:
        made = te.create_prim_func(list(args))
    except UserError:
        return False
    return structural_equal(made, before)


def _own_intrinsics(sch: Schedule) -> list[tuple[str, str, str]]:
    """The intrinsics that a trace names and that only the program has."""
    found: dict[str, tuple[str, str, str]] = {}
    for step in sch.trace.insts:
        for value in step.attrs if step.kind == "tensorize" else ():
            if not isinstance(value, list) or len(value) != 2:
                continue
            name, intrinsic = value
            texts = (name, intrinsic.desc.script(), intrinsic.impl.script())
            if found.setdefault(name, texts) != texts:
                raise CannotWrite(f"it has two intrinsics of the name {name}")
    return list(found.values())


def definition(script: str, name: str) -> list[str]:
    """Return the lines that define a function of a script under another name."""
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith("# from")]
    return [re.sub(r"^def \w+\(", f"def {name}(", line) for line in lines]
