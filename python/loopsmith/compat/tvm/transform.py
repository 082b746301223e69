# SPDX-License-Identifier: Apache-2.0
"""``tvm.transform``: the scope in which programs set options of the compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from loopsmith import tir
from loopsmith.pass_observers import PassRecord

from ..missing import MissingName, other_names
from .instrument import PassTimingInstrument

__all__ = [
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "function_pass",
    "module_pass",
]

_entered = threading.local()

_MARKS: dict[str, dict[str, str | None]] = {
    "tir.UnrollLoop": {
        "auto_max_step": "pragma_auto_unroll_max_step",
        "explicit_unroll": "pragma_unroll_explicit",
        "auto_max_extent": None,  # See `tir.transform.UnrollLoop`.
        "auto_max_depth": None,  # Of loops inside each other, the innermost alone is unrolled so.
    },
    "tir.Simplify": dict.fromkeys(
        # All of these are always done.
        ("transitively_prove_inequalities", "apply_constraints_to_boolean_branches")
    ),
    "tir.HoistIfThenElse": {},
    "tir.RemoveNoOp": {"max_simplification_steps": None},  # They are bounded anyway.
    "tir.LoopPartition": {
        "partition_const_loop": "pragma_loop_partition_hint",
        "no_unroll_single_iter_loop": None,  # A loop of one iteration goes with `simplify`.
    },
}
"""The marks of statements that options of a pass amount to; None where they have no effect."""

_UNMET = (
    "convert_boolean_to_and_of_ors",
    "propagate_knowns_to_prove_conditional",
    "propagate_knowns_to_simplify_expressions",
    "support_block_scope_hosting",
    "unroll_local_access",
    "use_dataflow_analysis",
)
"""Options of passes that may be asked for, but not to be true."""

_OPTIONS = ("tir.disable_vectorize", "tir.add_lower_pass", "tir.disable_assert", "tir.noalias",
            "tir.instrument_bound_checkers", *_MARKS)  # fmt: skip

_PHASES = {1: "narrow_indices", 2: "storage_rewrite", 3: "common_subexpressions"}
"""The pass behind which those of a phase come: buffers are flat; loops are vectors and unrolled; at
the end."""


class PassContext:
    """A scope with options of the compiler.

    Parameters
    ----------
    opt_level
        Has no effect: code is always optimised, and results do not depend on it.
    config
        Options by name: ``tir.disable_vectorize`` makes vectorized loops serial ones,
        ``tir.add_lower_pass`` lists pairs of a phase and a pass: 0 comes before all other passes, 1
        where buffers are flat, 2 where loops are vectors and unrolled, 3 and more at the end;
        ``tir.disable_assert`` leaves assertions out, ``tir.noalias`` set to False lets arguments
        share memory, ``tir.instrument_bound_checkers`` checks each access when a program runs;
        ``tir.UnrollLoop`` is a map with ``auto_max_step`` and ``explicit_unroll``,
        ``tir.LoopPartition`` one with ``partition_const_loop``, like pragmas.
        Whoever passes another option is told that it is not provided.
    instruments
        Are told of each pass that a program runs by itself: see `PassInstrument`.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Any = None,
        disabled_pass: Any = None,
        instruments: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        for what, given in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if given:
                raise MissingName(f"tvm.transform.PassContext.{what}")
        config = {name.replace("tirx.", "tir."): each for name, each in (config or {}).items()}
        for name in config:
            if name not in _OPTIONS:
                raise MissingName(f"tvm.transform.PassContext.config[{name!r}]")
        for each, marks in _MARKS.items():
            for name, value in dict(config.get(each, {})).items():
                if name not in marks and (value or name not in _UNMET):
                    raise MissingName(f"tvm.transform.PassContext.config[{each!r}][{name!r}]")
        self.opt_level = opt_level
        self.instruments: list[Any] = list(instruments or ())
        self.config: dict[str, Any] = config
        self.buffer_options: dict[str, Any] = {}

    @staticmethod
    def current() -> PassContext:
        """Return the context of the innermost scope."""
        stack = getattr(_entered, "stack", [])
        return stack[-1] if stack else PassContext()

    def __enter__(self) -> PassContext:
        """Make it the current context."""
        if not hasattr(_entered, "stack"):
            _entered.stack = []
        _entered.stack.append(self)
        for each in self.instruments:
            each.enter_pass_ctx()
        return self

    def __exit__(self, *_: object) -> None:
        """Make current what was before."""
        _entered.stack.pop()
        for each in self.instruments:
            each.exit_pass_ctx()


def with_options(program: Any) -> Any:
    """Return a module as the options of the current context want it to be lowered."""
    config = PassContext.current().config
    for phase, each in config.get("tir.add_lower_pass", ()):
        if phase == 0:
            program = each(program)
    for each in _MARKS:
        program = marked_as_asked(program, each)
    if config.get("tir.disable_vectorize"):
        program = _on_functions_of(program, lambda func: tir.rewrite(func, after=_serial))
    if config.get("tir.disable_assert"):
        program = _on_functions_of(program, lambda func: tir.rewrite(func, after=_checked))
    if not config.get("tir.noalias", True):
        program = _on_functions_of(program, lambda func: func.with_attr("tir.noalias", False))
    return program


def _on_functions_of(module: Any, change: Callable[[Any], Any]) -> Any:
    functions = [change(func) for func in module.functions]
    return tir.IRModule(names=list(module.names), functions=functions, attrs=module.attrs)


def _serial(node: Any) -> Any:
    is_vector = isinstance(node, tir.For) and node.kind == "vectorized"
    return tir.replace(node, kind="serial") if is_vector else None


def _checked(node: Any) -> Any:
    return node.body if isinstance(node, tir.AssertStmt) else None


def passes_of_phases() -> dict[str, list[Any]]:
    """Return the passes of the current context's later phases, by those that they come after."""
    found: dict[str, list[Any]] = {}
    for phase, each in PassContext.current().config.get("tir.add_lower_pass", ()):
        if phase > 0:
            found.setdefault(_PHASES[min(phase, 3)], []).append(_on_functions(each))
    return found


def _on_functions(each: Any) -> Callable[[tir.PrimFunc], tir.PrimFunc]:
    def run(func: tir.PrimFunc) -> tir.PrimFunc:
        name = tir.GlobalVar(str((func.attrs or {}).get("global_symbol", "main")))
        made: tir.PrimFunc = each(tir.IRModule(names=[name], functions=[func])).functions[0]
        return made

    return run


def marked_as_asked(module: Any, option: str) -> Any:
    """Return a module with the marks that the current context's options of a pass are."""
    asked = {
        mark: int(value)
        for name, value in PassContext.current().config.get(option, {}).items()
        if (mark := _MARKS.get(option, {}).get(name))
    }
    if not asked:
        return module

    def marked(func: tir.PrimFunc) -> tir.PrimFunc:
        body = func.body
        for mark, value in asked.items():
            body = tir.AttrStmt(node=tir.const(0), attr_key=mark, value=tir.const(value), body=body)
        return func.with_body(body)

    return tir.IRModule(
        names=list(module.names),
        functions=[marked(func) for func in module.functions],
        attrs=module.attrs,
    )


class PassInfo(NamedTuple):
    """What is known of a pass."""

    opt_level: int
    name: str
    required: list[str]


def observer() -> Callable[[PassRecord], None] | None:
    """Return the observer that tells the current context's instruments of the passes of a lowering.

    Raises
    ------
    MissingName
        From the function that is returned: an instrument is against a pass, each of which programs
        need.
    """
    from .tir.prim_func import as_module

    instruments = PassContext.current().instruments
    if not instruments:
        return None

    def tell(record: PassRecord) -> None:
        info = PassInfo(0, f"tir.{record.name}", [])
        before, after = as_module(record.before), as_module(record.after)
        for each in instruments:
            if not each.should_run(before, info):
                raise MissingName(f"tvm.transform.PassContext.instruments.should_run({info.name})")
            if isinstance(each, PassTimingInstrument):
                each.note(info.name, record.seconds)
                continue
            each.run_before_pass(before, info)
            each.run_after_pass(after, info)

    return tell


class Pass:
    """A function from module to module, with a name."""

    def __init__(self, name: str, run: Callable[..., Any], opt_level: int = 0) -> None:
        self.info = PassInfo(opt_level, name, [])
        self._run = run

    def __call__(self, mod: Any) -> Any:
        """Run it on a module, unless an instrument of the context is against it."""
        context = PassContext.current()
        if not all(each.should_run(mod, self.info) for each in context.instruments):
            return mod
        for each in context.instruments:
            each.run_before_pass(mod, self.info)
        made = self._run(mod, context)
        for each in context.instruments:
            each.run_after_pass(made, self.info)
        return made


ModulePass = FunctionPass = Pass


class Sequential(Pass):
    """Passes one after the other."""

    def __init__(
        self, passes: Sequence[Any] = (), opt_level: int = 0, name: str = "sequential", **_: Any
    ) -> None:
        self.passes = list(passes)

        def run(mod: Any, _: Any = None) -> Any:
            for each in self.passes:
                mod = each(mod)
            return mod

        super().__init__(name, run, opt_level)


def _decorated(pass_func: Any, opt_level: int | None, name: str | None, wrap: Any) -> Any:
    def made(function: Any) -> Any:
        called = name or function.__name__
        if not isinstance(function, type):
            return Pass(called, wrap(function), opt_level or 0)

        def construct(*args: Any, **kwargs: Any) -> Pass:
            instance = function(*args, **kwargs)
            method = getattr(instance, "transform_module", None) or instance.transform_function
            return Pass(called, wrap(method), opt_level or 0)

        return construct

    return made if pass_func is None else made(pass_func)


def module_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, **_: Any
) -> Any:
    """Make a pass of a function of a module and a context, or of a class that has it."""
    return _decorated(pass_func, opt_level, name, lambda function: function)


def function_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, **_: Any
) -> Any:
    """Make a pass of a function of a function, its module and a context."""

    def wrap(function: Any) -> Any:
        def run(mod: Any, context: Any) -> Any:
            return tir.IRModule(
                names=list(mod.names),
                functions=[function(func, mod, context) for func in mod.functions],
                attrs=mod.attrs,
            )

        return run

    return _decorated(pass_func, opt_level, name, wrap)


def PrintIR(header: str = "", show_meta_data: bool = False) -> Pass:
    """Return the pass that prints the module."""

    def run(mod: Any, _: Any = None) -> Any:
        print(header)
        print(mod.script())
        return mod

    return Pass("PrintIR", run)


__getattr__ = other_names("tvm.transform")
