# SPDX-License-Identifier: Apache-2.0
"""What can be tuned: the functions of it, and the space in which each is searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Union

from .. import _core
from .._core import IRModule, PrimFunc, Schedule, TeSchedule, Trace
from ..build_options import Numerics
from .spaces.space import Space, SpaceFunction

Tunable = Union[PrimFunc, IRModule, Schedule, Trace, TeSchedule, Sequence[Any]]


def spaces_of(
    x: Any,
    space: SpaceFunction | Trace | None,
    without_steps: Callable[[PrimFunc], SpaceFunction],
    numerics: Numerics,
) -> dict[str, Space]:
    """Return what is searched, by the names of the functions."""
    if isinstance(x, IRModule):
        if isinstance(space, Trace):
            _fail_kind(x, "give a space that is a function, or tune the functions one by one")
        named = {
            name.name_hint: func.with_attr("global_symbol", name.name_hint)
            for name, func in zip(x.names, x.functions)
        }
        if not named:
            _fail_kind(x, "give it a function")
        return {
            name: Space(func, space or without_steps(func), numerics=numerics)
            for name, func in named.items()
        }
    if isinstance(x, (list, tuple)):
        from .. import te

        x = te.create_prim_func(x)
    start = None
    if isinstance(x, TeSchedule):
        x = x.to_tir()
    if isinstance(x, (Schedule, Trace)):
        trace = x.trace if isinstance(x, Schedule) else x
        if trace.original is None:
            _fail_kind(x, "take it from a schedule: sch.trace; or pass tune(func, space=trace)")
        if len(trace.original.functions) != 1:
            _fail_kind(x, "tune a schedule of one function")
        start = trace if len(trace) else None
        x = trace.original.functions[0]
    if not isinstance(x, PrimFunc):
        _fail_kind(
            x,
            "pass a PrimFunc, an IRModule, a Schedule, its trace or a list of tensors",
        )
    if isinstance(space, Trace):
        if start is not None:
            _fail_kind(x, "pass the function, and the trace as `space`")
        return {x.name: Space(x, None, space, numerics=numerics)}
    if space is not None and not callable(space):
        _fail_kind(space, "pass a function sch -> None, or a trace, as `space`")
    own = without_steps(x) if space is None and start is None else space
    return {x.name: Space(x, own, start, numerics=numerics)}


def require_ranges_fit(x: Any, arguments: Sequence[Any] | None) -> None:
    """Refuse what has no ranges of sizes: a module, and given arguments."""
    if isinstance(x, IRModule):
        _fail_kind(x, "tune the functions one by one, each with the ranges of its sizes")
    if arguments is not None:
        _core.fail(
            "UserError",
            "ranges_have_random_arguments",
            "tune: arguments are given, and ranges of sizes",
            hint="leave out `arguments`: they have sizes of their own",
        )


def _fail_kind(x: Any, hint: str) -> NoReturn:
    _core.fail(
        "TypeMismatch",
        "program_can_be_tuned",
        f"tune: a {type(x).__name__} cannot be tuned so",
        hint=hint,
    )
