# SPDX-License-Identifier: Apache-2.0
"""The function or module that is compiled, of whatever a program is given as."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import IRModule, PrimFunc, Schedule, TeSchedule

if TYPE_CHECKING:
    from ._core import Buffer, Tensor, Var

    Program = Union[PrimFunc, IRModule, Schedule, TeSchedule, Sequence[Tensor]]
    Arguments = Sequence[Union[Tensor, Var]]

OUTPUTS = "tir.outputs"
ScheduleObserver = Callable[[TeSchedule, Any, Mapping[Any, Any]], None]
"""Gets a schedule of tensor expressions that is lowered or built, its arguments and buffers."""
_schedule_observer: ContextVar[ScheduleObserver | None] = ContextVar("observer", default=None)


@contextmanager
def observed_schedules(observe: ScheduleObserver) -> Iterator[None]:
    """Let `observe` be told of each schedule of tensor expressions before it is carried out."""
    token = _schedule_observer.set(observe)
    try:
        yield
    finally:
        _schedule_observer.reset(token)


def program_of(
    operation: str,
    x: Program,
    name: str | None,
    args: Any = None,
    binds: Mapping[Tensor, Buffer] | None = None,
    keeps_trace: bool = False,
) -> PrimFunc | IRModule:
    """Return a function or a module; of tensors, the function that computes them."""
    if isinstance(x, (list, tuple)):
        from . import te

        x = te.create_prim_func(x)
    if isinstance(x, TeSchedule):
        observe = _schedule_observer.get()
        if observe is not None:
            observe(x, args, dict(binds or {}))
        steps = x.to_tir(args, dict(binds or {}))
        steps.require_no_obligations(operation)
        # Also where nothing was decided: it is computed as it stands.
        scheduled = scheduled_program(steps, keeps_trace)
        assert isinstance(scheduled, PrimFunc)
        x = scheduled.with_attr("tir.is_scheduled", 1)
    elif args is not None or binds:
        _core.fail(
            "TypeMismatch",
            "program_has_parameters",
            f"{operation}: a {type(x).__name__} has parameters of its own, and arguments are given",
            hint="leave out `args` and `binds`",
        )
    if isinstance(x, Schedule):
        x.require_no_obligations(operation)
        x = scheduled_program(x, keeps_trace)
    if not isinstance(x, (PrimFunc, IRModule)):
        _core.fail(
            "TypeMismatch",
            "program_is_function",
            f"{operation}: a {type(x).__name__} is no program",
            hint="pass a PrimFunc, an IRModule, a Schedule or a list of tensors",
        )
    if name is None:
        return x
    if isinstance(x, IRModule):
        _core.fail(
            "TypeMismatch",
            "module_has_names",
            f"{operation}: the functions of a module have names already",
            hint="leave out `name`",
        )
    return x.with_attr("global_symbol", name)


def searched_function(tune: str | None, program: PrimFunc | IRModule) -> PrimFunc | None:
    """Return the function that is to be searched in the background, if it has no schedule."""
    if tune is None:
        return None
    if tune != "background":
        _core.fail(
            "UserError",
            "tune_is_known",
            f"build: tune is {tune!r}",
            hint='pass "background", or call ls.tune',
        )
    if not isinstance(program, PrimFunc):
        _core.fail(
            "TypeMismatch",
            "program_is_function",
            f"build: a {type(program).__name__} is not tuned in the background",
            hint="tune its functions, or call ls.tune",
        )
    return None if "tir.is_scheduled" in (program.attrs or {}) else program


def _with_outputs(func: PrimFunc, original: IRModule) -> PrimFunc:
    """Return a scheduled function with a note of the outputs that it had before its schedule."""
    for name, before in zip(original.names, original.functions):
        if len(original.functions) == 1 or name.name_hint == func.name:
            return func.with_attr(OUTPUTS, _core.with_outputs(before).attrs[OUTPUTS])
    return func


def each_function(
    program: PrimFunc | IRModule, change: Callable[[PrimFunc], PrimFunc]
) -> PrimFunc | IRModule:
    """Return a function, or the functions of a module, changed."""
    if isinstance(program, PrimFunc):
        return change(program)
    functions = [change(func) for func in program.functions]
    return IRModule(names=list(program.names), functions=functions, attrs=program.attrs)


def scheduled_program(sch: Schedule, keeps_trace: bool) -> PrimFunc | IRModule:
    """Return the program of a schedule; what has been scheduled is not scheduled by rule."""
    module = sch.mod
    functions = list(module.functions)
    if keeps_trace:
        functions = [_with_outputs(func, sch.original) for func in functions]
    if len(sch.trace) > 0:
        functions = [func.with_attr("tir.is_scheduled", 1) for func in functions]
        if keeps_trace:
            import json

            trace = json.dumps(sch.trace.as_json())
            functions = [func.with_attr("tir.schedule_trace", trace) for func in functions]
    if len(functions) == 1:
        return functions[0]
    return IRModule(names=list(module.names), functions=functions, attrs=module.attrs)
