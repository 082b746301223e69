# SPDX-License-Identifier: Apache-2.0
"""``tvm.driver``: `lower` and `build`, as programs of all generations call them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith as ls

from ..missing import MissingName, other_names
from .returned import with_results_in_memory
from .runtime import Module
from .target import Target
from .tir.prim_func import as_module
from .transform import PassContext, observer, passes_of_phases, with_options

__all__ = ["build", "build_module", "compile", "lower", "schedule_to_module"]

# With arguments, they take schedules of tensor expressions.
_lower: Any = ls.lower
_build: Any = ls.build


def _is_program(inputs: Any) -> bool:
    return isinstance(inputs, (ls.tir.PrimFunc, ls.tir.IRModule, ls.tir.Schedule))


def _module_of(inputs: Any, args: Any, name: str, binds: Any) -> Any:
    """Return the module of a program, or of a schedule of tensor expressions."""
    if isinstance(inputs, ls.tir.Schedule):
        return inputs.mod
    return as_module(inputs) if _is_program(inputs) else _scheduled(inputs, args, name, binds)


def _one_module(programs: Sequence[Any]) -> ls.tir.IRModule:
    """Return one module of the functions of several."""
    functions: dict[str, Any] = {}
    for module in map(as_module, programs):
        functions.update({name.name_hint: module[name] for name in module.names})
    return ls.ir.make_module(functions)


def lower(
    inp: Any,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Any, Any] | None = None,
    simple_mode: bool = False,
) -> ls.tir.IRModule:
    """Return the lowered module of a schedule and its arguments, of a function or of a module.

    With `simple_mode`, the program before the passes that shape it for a code generator, as
    people read it.
    """
    if PassContext.current().config:
        module = with_options(_module_of(inp, args, name, binds))
        if not _is_program(inp):
            own = passes_of_phases()
            return as_module(ls.lower(module, simple_mode=simple_mode, passes=own, dump=observer()))
        inp = module
    if _is_program(inp):
        return as_module(
            inp if simple_mode else ls.lower(inp, passes=passes_of_phases(), dump=observer())
        )
    tensors = _tensors(args, binds)
    try:
        made = _lower(
            inp, tensors, simple_mode=simple_mode, name=name, binds=binds, dump=observer()
        )
    except ls.UserError as error:
        # What computes nothing for a caller is shown all the same, with the results behind.
        if error.code != "result_is_argument" or tensors is None:
            raise
        results = [op.output(i) for op in inp.outputs for i in range(op.num_outputs)]
        made = _lower(inp, [*tensors, *results], simple_mode=simple_mode, name=name, binds=binds)
    return as_module(made)


def build(
    inputs: Any,
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "default_function",
    binds: Mapping[Any, Any] | None = None,
) -> Module:
    """Compile a schedule with its arguments, a function, a module, or a list of these."""
    if isinstance(args, (str, ls.Target)):
        args, target = None, args
    chosen = target if target is not None else Target.current()
    meant = chosen if isinstance(chosen, ls.Target) else Target(chosen or "llvm")
    if isinstance(inputs, (list, tuple)):
        inputs = _one_module(inputs)
    if isinstance(inputs, Mapping):  # Functions, by the target that each is for.
        (meant, inputs), *others = inputs.items()
        if others:
            raise MissingName("tvm.build.several_targets")
        meant = meant if isinstance(meant, ls.Target) else Target(meant)
    if PassContext.current().config:
        inputs = with_options(_module_of(inputs, args, name, binds))
    if _is_program(inputs):
        program, returned = with_results_in_memory(inputs)
        is_checked = bool(PassContext.current().config.get("tir.instrument_bound_checkers"))
        built = ls.build(
            program, target=meant, passes=passes_of_phases(), checks=is_checked, dump=observer()
        )
        return Module(built, inputs, returned=returned)
    if args is None:
        raise ValueError("build: pass the arguments of the function: build(schedule, [A, B], ...)")
    built = _build(inputs, _tensors(args, binds), meant, name=name, binds=binds, dump=observer())
    return Module(built, None, entry=name)


def schedule_to_module(
    sch: Any, args: Sequence[Any] | None = None, name: str = "main", binds: Any = None
) -> ls.tir.IRModule:
    """Return the scheduled program of tensor expressions as loops, before it is lowered further."""
    module = _scheduled(sch, args, name, binds)
    for step in ("lower_init", "lower_match_buffer", "lower_blocks"):
        module = ls.run_pass(module, step)
    return module


def _tensors(args: Any, binds: Any) -> Any:
    """Return arguments of a schedule, with tensors in place of buffers that are bound to them."""
    if args is None:
        return None
    bound = {buffer: tensor for tensor, buffer in (binds or {}).items()}
    return [bound.get(each, each) if isinstance(each, ls.tir.Buffer) else each for each in args]


def _scheduled(sch: Any, args: Any, name: str, binds: Any) -> ls.tir.IRModule:
    made = sch.to_tir(_tensors(args, binds), dict(binds or {}))
    return as_module(made.func.with_attr("global_symbol", name))


def compile(
    mod: Any,
    target: Any = None,
    *,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
) -> Module:
    """Compile a function or a module, as later generations call `build`.

    Parameters
    ----------
    mod
        A function, a module, or a schedule of these.
    target
        What it is for.
    relax_pipeline
        Says nothing here: there are no graphs.
    tir_pipeline
        A pass, which is run before all others; ``"default"`` or None: none is.
    """
    if isinstance(tir_pipeline, str) and tir_pipeline != "default":
        raise MissingName(f"tvm.tir.pipeline.{tir_pipeline}")
    if callable(tir_pipeline):
        mod = tir_pipeline(_module_of(mod, None, "main", None))
    return build(mod, target=target)


build_module = sys.modules[__name__]
__getattr__ = other_names("tvm.driver")
