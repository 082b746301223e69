# SPDX-License-Identifier: Apache-2.0
"""What `lower` and `build` are asked for, checked."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

from . import _core
from ._core import Target

DEFAULT_TARGET = "llvm -mcpu=native"


def arguments_and_target(
    operation: str, args: Any, target: Target | str | None
) -> tuple[Any, Target | str]:
    """Return the arguments, if any, and the target: a target may stand in their place."""
    if isinstance(args, (Target, str)):
        if target is not None:
            _core.fail(
                "TypeMismatch",
                "one_target",
                f"{operation}: the targets {args} and {target} are given",
                hint="give one",
            )
        return None, args
    return args, DEFAULT_TARGET if target is None else target


def target_of(operation: str, target: Target | str) -> Target:
    """Return a target; a text that is none is refused with those that there are."""
    if not isinstance(target, (Target, str)):
        _core.fail(
            "TypeMismatch",
            "target_is_text",
            f"{operation}: a {type(target).__name__} is no target",
            hint='pass a text, as "llvm -mcpu=native", or a Target',
        )
    return Target(target) if isinstance(target, str) else target


Numerics = Literal["free", "strict", "reproducible"]
"""Which results a schedule has to give: see `build` and `tune`."""


def checked_numerics(operation: str, numerics: Any) -> Numerics:
    """Return a lock of numerics that there is."""
    if numerics not in get_args(Numerics):
        _core.fail(
            "UserError",
            "numerics_are_known",
            f"{operation}: numerics is {numerics!r}",
            hint='pass "free", "strict" or "reproducible"',
        )
    return cast(Numerics, numerics)


def checked_count(option: str, value: Any) -> int:
    """Return an integer of 32 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not -(2**31) <= number < 2**31:
        _core.fail(
            "TypeMismatch",
            "option_is_integer",
            f"build: {option} is {value!r}, not an integer of 32 bits",
            hint=f"pass {option} as a whole number",
        )
    return number


def checked_list(operation: str, option: str, values: Any) -> list[Any]:
    """Return the items of what can be iterated over, but of no text."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        _core.fail(
            "TypeMismatch",
            "option_is_list",
            f"{operation}: {option} is {values!r}, not a list",
            hint="pass a list",
        )
    return list(values)


def checked_names(operation: str, option: str, values: Any) -> list[str]:
    """Return a name, or a list of names, as a list."""
    names = [values] if isinstance(values, str) else checked_list(operation, option, values)
    for name in names:
        if not isinstance(name, str):
            _core.fail(
                "TypeMismatch",
                "option_is_name",
                f"{operation}: {option} has {name!r}, not a name",
                hint="pass names as texts",
            )
    return names


def allowed_math(operation: str, fast_math: bool | str | Sequence[str] | None) -> list[str]:
    """Return the names that `fast_math` stands for."""
    if fast_math is None or isinstance(fast_math, bool):
        return ["all"] if fast_math else []
    return checked_names(operation, "fast_math", fast_math)
